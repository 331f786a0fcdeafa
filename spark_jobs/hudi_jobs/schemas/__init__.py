"""Columns and their types: what is declared, what casts without loss, and what a table accepts."""
