"""Removes files without an instant: lists them, compares them with the timelines, and copies them first."""
