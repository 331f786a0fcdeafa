"""A schema registry with the API of Confluent's: what it says of a schema, bounded, and nothing else of it trusted."""
