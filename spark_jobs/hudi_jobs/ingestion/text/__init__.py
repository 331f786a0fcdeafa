"""Texts of files and messages as values: CSV, JSON, and columns of texts."""
