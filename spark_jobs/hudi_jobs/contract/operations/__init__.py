"""The work that a resource of the cluster asks for once, as the request describes it."""
