"""Rows that have the same key: which of them stays, and what the table holds afterwards."""
