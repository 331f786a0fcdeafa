"""Decides which rows a table takes: rows with whole keys and valid partitions; bad rows are set aside."""
