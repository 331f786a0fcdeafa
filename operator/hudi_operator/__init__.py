"""A Kubernetes operator that keeps Apache Hudi tables in the shape their resources declare."""

__version__ = "0.1.0"
