"""The request document of a run, and its parts for a source, an erasure and a service."""
