"""Settings allowed to a table, and the operator's settings for Hudi, Spark and its readers."""
