"""The status that people see: conditions, services and Events."""
