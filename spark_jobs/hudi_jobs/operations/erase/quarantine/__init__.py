"""Erases keys from the records of a quarantine."""
