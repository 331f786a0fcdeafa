"""How many of their trials the long tests run: a few by default, every one with `HUDI_JOBS_TRIALS=all`."""

import os

ALL = os.environ.get("HUDI_JOBS_TRIALS") == "all"

LEASE = 12.0
"""Seconds; a busy machine may keep a driver from renewing its lease for some of them."""
