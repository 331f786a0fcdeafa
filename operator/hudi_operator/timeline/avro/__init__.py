"""Avro as values: schemas, records, and bounds on everything that a file says of itself."""
