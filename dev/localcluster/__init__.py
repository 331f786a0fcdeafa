"""A real single-node Kubernetes on this machine, for development and tests."""
