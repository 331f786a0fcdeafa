"""Finds tables that are there already and writes the resources by which they can be observed."""
