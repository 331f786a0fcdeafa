"""Removes rows that share a key: which row stays, and what the table holds afterwards."""
