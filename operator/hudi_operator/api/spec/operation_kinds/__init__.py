"""The spec of each kind of operation, in a module of its own."""
