"""Kafka's clients in the JVM: options, answers and errors."""
