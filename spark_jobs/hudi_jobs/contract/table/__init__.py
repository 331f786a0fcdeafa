"""The facts of a table from its properties, path and owner record, as both sides read them."""
