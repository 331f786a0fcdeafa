"""What a driver writes onto its own pod for the operator."""

EXECUTORS_REFUSED_ANNOTATION = "hudi-operator.io/executors-refused"
"""On drivers' pods: the API server's words when it refuses pods of executors; absent while it accepts them."""
