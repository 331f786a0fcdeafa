"""Checks a Hudi table by its timeline: findings with evidence and remedies, and a score."""
