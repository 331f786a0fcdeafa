"""Restores a table to a commit, by a restore or rollback, with the checkpoint that applies afterwards."""
