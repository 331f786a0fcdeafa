"""Generates files from the code: the CRDs, the tables of fields and the reference page."""
