"""What a table owner declares of each kind of source: one module each, named in `api.spec.source` alone."""
