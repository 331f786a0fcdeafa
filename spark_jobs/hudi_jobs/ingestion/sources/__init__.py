"""The kinds of sources: a module or package each, and the registry of them."""
