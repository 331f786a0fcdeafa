"""Ownership of base paths."""
