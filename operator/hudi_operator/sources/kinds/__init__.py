"""The kinds of source: one module each, which the registry alone imports."""
