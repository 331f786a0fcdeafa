"""Changes a table's version: checked first, protected by a savepoint, compared afterwards."""
