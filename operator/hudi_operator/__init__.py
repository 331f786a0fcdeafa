"""A Kubernetes operator that keeps Apache Hudi tables in the shape their resources declare."""
