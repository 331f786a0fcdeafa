"""What is read of a table in its store: when, in which threads, and within which bounds."""
