"""Assesses what is due: whether ingestion and each table service needs a run, and why not."""
