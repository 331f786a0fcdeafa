"""Catalogs: a module for each kind, the registry, and when a run syncs. A sync never fails the run that committed."""
