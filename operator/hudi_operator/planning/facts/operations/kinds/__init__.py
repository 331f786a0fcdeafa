"""The definitions of the kinds of operations: a module for each kind, and a line in the registry."""
