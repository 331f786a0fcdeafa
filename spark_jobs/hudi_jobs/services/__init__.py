"""The table services: one module per service, and the fence that keeps an instant from being executed twice."""
