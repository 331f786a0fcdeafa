"""What the operator reports: of a table and of a class."""
