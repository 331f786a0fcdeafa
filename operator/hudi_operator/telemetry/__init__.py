"""What the operator says about itself: structured logs, metrics and health."""
