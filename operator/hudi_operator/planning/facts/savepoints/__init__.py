"""Decides the state of each of a table's savepoints, and the next run for them."""
