"""Findings: what needs attention on a table, one module per code."""
