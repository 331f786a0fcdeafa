"""What a resource of the cluster asks for once, as the request says it."""
