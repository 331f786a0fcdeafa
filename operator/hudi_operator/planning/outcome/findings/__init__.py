"""Findings: the problems of a table that need attention, a module per code."""
