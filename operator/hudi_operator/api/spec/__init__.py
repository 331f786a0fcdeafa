"""What is declared: of a table by its owner, of a class by the platform team."""
