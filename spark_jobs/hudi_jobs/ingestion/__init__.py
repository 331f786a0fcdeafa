"""Ingestion: read what is new in a source and write it to a Hudi table as one commit that also holds the checkpoint."""
