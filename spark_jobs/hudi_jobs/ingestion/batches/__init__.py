"""Runs batches in one driver, and reports their progress."""
