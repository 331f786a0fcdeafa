"""The checks of a table, a module for each family."""
