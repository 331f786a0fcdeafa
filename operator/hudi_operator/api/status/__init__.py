"""The status of tables and classes."""
