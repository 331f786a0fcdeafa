"""Formats and envelopes of message values: a module each, and the registry of both."""
