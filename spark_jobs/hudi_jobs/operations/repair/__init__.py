"""Repairs: one module for each step, and one run for all of them."""
