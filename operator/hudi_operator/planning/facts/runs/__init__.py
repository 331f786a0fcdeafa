"""Concludes runs: how they ended, their failures, and what is remembered."""
