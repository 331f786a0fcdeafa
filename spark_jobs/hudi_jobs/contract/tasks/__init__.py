"""The tasks of a request: one class for each service."""
