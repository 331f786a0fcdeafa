"""Catalogs of tables: a module for each kind, and the registry."""
