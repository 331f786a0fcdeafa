"""Definitions of the services: a module each, and a registry. `planning.needs` decides when each is due."""
