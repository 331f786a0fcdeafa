"""Client for a schema registry with Confluent's API: bounded, and trusting only schemas."""
