"""Offsets as plain values: start, position, next ranges and losses."""
