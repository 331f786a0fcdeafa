"""How far the checker goes: by default less than a minute of processor time, and as far as is useful on request."""

from __future__ import annotations

import os

IS_WHOLE = os.environ.get("MODEL_BUDGET") == "all"
"""Set for the long run, which every change of the decision should have seen once."""

STATES = 100_000 if IS_WHOLE else 200
"""States that are visited of each scenario."""

DEVIATIONS = 2 if IS_WHOLE else 1

WANDERINGS = 400 if IS_WHOLE else 2
"""Random histories of each scenario, with more deviations than the search can try."""
