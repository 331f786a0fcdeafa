"""Reads Avro schemas and records with bounds on every size in the file."""
