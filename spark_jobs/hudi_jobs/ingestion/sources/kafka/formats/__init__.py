"""What the value of a message is: one module for each format, one for each envelope, and the registry of both."""
