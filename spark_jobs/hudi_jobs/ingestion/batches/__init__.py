"""Runs batches in a driver, and reports their progress."""
