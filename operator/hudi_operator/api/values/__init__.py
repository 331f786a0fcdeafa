"""What specs and statuses are made of: scalars, names and paths with their rules."""
