"""Interprets a table's Jobs and pods."""
