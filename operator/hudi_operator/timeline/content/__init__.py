"""Decodes the content of timeline files: commits, plans and results of table services."""
