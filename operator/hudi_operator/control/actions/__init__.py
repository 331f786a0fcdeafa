"""Carries out the actions of a step: status, Events, Jobs, and the end of a table."""
