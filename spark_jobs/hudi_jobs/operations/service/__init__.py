"""A table service that is asked for once."""
