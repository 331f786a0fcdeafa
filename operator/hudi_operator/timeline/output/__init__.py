"""Renders a timeline: a document for programs, text for people."""
