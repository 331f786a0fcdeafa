"""The decisions: pure functions of declarations, observations, memory and time."""
