"""Checks the declarations of a table against the policy of its class."""
