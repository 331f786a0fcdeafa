"""Definitions of the services: one module each, and a registry. `planning.services` decides when each is due."""
