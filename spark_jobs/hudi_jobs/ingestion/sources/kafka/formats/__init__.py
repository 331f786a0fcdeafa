"""Formats and envelopes of message values: one module each, and the registry of both."""
