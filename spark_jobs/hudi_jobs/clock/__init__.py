"""Keeps a table's instants in its own zone, and in order."""
