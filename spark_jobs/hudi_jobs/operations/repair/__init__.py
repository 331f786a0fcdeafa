"""Repairs a table: one module for each step, and one run for all steps."""
