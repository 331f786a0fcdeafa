"""Repairs a table: a module for each step, and the same run for all steps."""
