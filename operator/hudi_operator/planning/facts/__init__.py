"""Gathers the facts of one reconcile: ended runs, owners of instants, drift, savepoints, operations."""
