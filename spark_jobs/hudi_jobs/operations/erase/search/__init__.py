"""Searches for keys in every byte and file name below a base path."""
