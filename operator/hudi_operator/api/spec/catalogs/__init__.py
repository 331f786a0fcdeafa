"""The kinds of catalog as resources declare them, a module each."""
