"""What the operator knows of each kind of operation: one module for each, and a line in the registry."""
