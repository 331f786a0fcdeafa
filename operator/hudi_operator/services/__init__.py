"""Definitions of the services: one module each, and a registry. `planning.needs` decides when each is due."""
