"""The kinds of catalog, a module each; only the registry imports them."""
