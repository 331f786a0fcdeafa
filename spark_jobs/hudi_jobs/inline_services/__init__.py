"""Runs table services inside a continuous ingestion: same process, same lease."""
