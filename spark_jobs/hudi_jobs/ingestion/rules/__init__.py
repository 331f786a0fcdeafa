"""Which rows a table takes: whole keys, values that make one partition each, and bad ones set aside."""
