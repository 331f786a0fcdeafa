"""The Spark side of the Hudi operator: the driver program that runs table tasks."""
