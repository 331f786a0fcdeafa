"""Finds existing tables and writes resources for observing them."""
