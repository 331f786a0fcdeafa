"""Puts what is due in order: what starts, what stops, and what waits for what."""
