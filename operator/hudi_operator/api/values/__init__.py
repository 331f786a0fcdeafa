"""The parts of specs and statuses: scalars, names and paths with their rules."""
