"""Leases in a table's own folder, and the end of a run that has lost a lease."""
