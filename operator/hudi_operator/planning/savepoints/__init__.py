"""Savepoints that HudiSavepoints ask of a table: what becomes of each, and what the next run does for one."""
