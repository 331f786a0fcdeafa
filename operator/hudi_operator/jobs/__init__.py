"""Builds the Job for a table's run from its spec: pure functions from values to documents."""
