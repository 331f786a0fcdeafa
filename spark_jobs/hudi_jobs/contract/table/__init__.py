"""What a table is by its own properties, path and record, as both sides read them."""
