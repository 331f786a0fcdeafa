"""Decides whether each kind of work is due: a module for each kind."""
