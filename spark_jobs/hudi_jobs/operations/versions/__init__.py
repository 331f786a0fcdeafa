"""Changes of the version of a table: checked first, kept by a savepoint, and compared after."""
