"""Batch after batch in one driver, and what is told of them while they run."""
