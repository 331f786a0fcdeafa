"""Files that are made from the code: the CRDs, the tables of fields and the reference page."""
