"""Restricts the SQL of a table's owner to a query that computes rows from a view."""
