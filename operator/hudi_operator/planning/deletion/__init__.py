"""The end of a table: the steps before a deleted resource may be removed."""
