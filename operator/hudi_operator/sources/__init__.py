"""Sources of tables: one module for each kind in `kinds`, and a registry. No other package knows a kind by name."""
