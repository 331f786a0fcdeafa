"""The only package that talks to the Kubernetes API: a small asyncio client with timeouts and typed errors."""
