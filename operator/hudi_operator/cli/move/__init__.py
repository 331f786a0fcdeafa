"""`move`: a table to another class or namespace, step by step, so that a repeated command continues."""
