"""Kafka topics as a source: every message once, in bounded batches whose offsets are committed with the rows."""
