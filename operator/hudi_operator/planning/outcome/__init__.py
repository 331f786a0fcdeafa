"""Concludes the decision: what is remembered and shown, findings, Events and actions."""
