"""What the SQL of a table's owner may be: a query that computes rows from one view, and nothing else."""
