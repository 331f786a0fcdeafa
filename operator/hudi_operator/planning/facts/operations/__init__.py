"""What becomes of each operation that a HudiOperation asks for, and when one has the table to itself."""
