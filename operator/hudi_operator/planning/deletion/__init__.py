"""The end of a table: what is done until a deleted resource may be removed."""
