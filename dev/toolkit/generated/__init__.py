"""Generates files from the code: the CRDs, the lists of fields and the reference page."""
