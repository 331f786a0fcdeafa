"""Ingestion and the table services: whether each is due, and which of them starts."""
