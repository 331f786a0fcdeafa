"""Kafka's clients in the JVM: their options, their answers and what goes wrong with them."""
