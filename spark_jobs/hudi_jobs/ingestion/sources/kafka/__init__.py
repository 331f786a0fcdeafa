"""Topics of a Kafka cluster as a source."""
