"""What the matrix is made of, and which of its cases a run takes."""

import os


def extent() -> str:
    """Return how much is run: a `sample` by default, `pairs`, or `all`."""
    return os.environ.get("MATRIX", "sample")
