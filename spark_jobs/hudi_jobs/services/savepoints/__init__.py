"""Savepoints: those of HudiSavepoints, the savepoint of a takeover, and the files they hold back."""
