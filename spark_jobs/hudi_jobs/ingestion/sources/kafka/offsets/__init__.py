"""Offsets as plain values: where reading begins and stands, what is read next, and what was lost."""
