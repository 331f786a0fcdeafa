"""Texts as values of plain types, for CSV, JSON, names of folders and keys alike: each exactly, or a fault."""
