"""Kafka topics as a source: every message once, in bounded batches that commit their offsets with the rows."""
