"""Settings for the properties of decisions."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about what else the machine does than about a decision.
settings.register_profile("decisions", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("decisions")
