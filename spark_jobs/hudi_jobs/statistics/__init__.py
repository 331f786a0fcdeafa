"""The statistics of a table, from Hudi's own view of its files."""
