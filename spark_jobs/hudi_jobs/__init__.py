"""The Spark side of the Hudi operator: one driver program that runs table tasks."""
