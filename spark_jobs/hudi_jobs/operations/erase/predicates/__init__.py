"""Evaluates the SQL predicates that select rows to erase."""
