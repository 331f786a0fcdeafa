"""Decides the state of each HudiOperation, and when an operation has the table to itself."""
