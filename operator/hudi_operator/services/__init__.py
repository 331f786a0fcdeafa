"""What each service is: one module per service, and a registry of them. When one is due, `planning.services` says."""
