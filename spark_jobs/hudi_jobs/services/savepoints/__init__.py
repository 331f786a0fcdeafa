"""Savepoints: those of HudiSavepoints, the one of a takeover, and the files they hold back."""
