"""SQL predicates of owners of tables, by which they select what is erased."""
