"""Savepoints: those of a HudiSavepoint, the one of a table that was taken over, and what they hold back."""
