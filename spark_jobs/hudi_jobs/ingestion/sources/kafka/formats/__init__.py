"""What the values of messages hold, one module or package for each format."""
