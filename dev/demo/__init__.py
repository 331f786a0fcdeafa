"""The demonstration: real flights into a real table on a real cluster."""
