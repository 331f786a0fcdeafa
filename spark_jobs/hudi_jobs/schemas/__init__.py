"""Columns and their types: the declared columns, lossless casts, and the changes that a table accepts."""
