"""What is inside timeline files: commits, plans and results of table services."""
