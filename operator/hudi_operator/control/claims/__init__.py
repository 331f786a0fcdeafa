"""Who owns which base path."""
