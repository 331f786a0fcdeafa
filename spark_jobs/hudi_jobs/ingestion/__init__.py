"""Ingestion: reads new input from a source and writes it to a Hudi table as a commit that also holds the checkpoint."""
