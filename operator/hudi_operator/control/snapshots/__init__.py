"""Reads tables from their store: polling, threads and bounds."""
