"""The decisions: pure functions of what was declared, what was seen, what is remembered, and the time."""
