"""Gathers everything that a decision about a table needs."""
