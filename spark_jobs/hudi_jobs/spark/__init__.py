"""What all parts of the driver need of Spark: its JVM, its session, its file systems, its failures and its logs."""
