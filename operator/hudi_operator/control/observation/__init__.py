"""Gathers everything that a decision about one table needs."""
