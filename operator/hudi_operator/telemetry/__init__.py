"""The operator's telemetry: structured logs, metrics and health."""
