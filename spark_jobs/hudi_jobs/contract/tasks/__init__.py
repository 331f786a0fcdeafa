"""The tasks of a request: a class for each service."""
