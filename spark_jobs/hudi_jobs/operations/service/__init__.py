"""Runs a table service once, on request."""
