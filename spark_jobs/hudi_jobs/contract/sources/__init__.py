"""The sources of rows in a request, and the checkpoints of what has been read."""
