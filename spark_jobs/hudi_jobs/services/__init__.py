"""The table services: a module per service."""
