"""Settings that a table may make itself, and those that the operator makes for Hudi, Spark and its readers."""
