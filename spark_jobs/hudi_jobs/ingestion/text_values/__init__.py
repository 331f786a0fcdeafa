"""Converts texts to values of plain types, for CSV, JSON, names of folders and keys alike: exactly, or with a fault."""
