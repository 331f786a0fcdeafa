"""The table services: one module per service."""
