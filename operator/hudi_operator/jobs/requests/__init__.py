"""The request document of a run: whole, and its parts about a source, an erasure and a service."""
