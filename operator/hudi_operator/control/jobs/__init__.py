"""A table's Jobs and pods, as their documents show them."""
