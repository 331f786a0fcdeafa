"""Checks of a table before a write: the index finds its keys, and the keys match its rows."""
