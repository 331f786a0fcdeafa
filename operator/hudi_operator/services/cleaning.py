"""Cleaning: removing file slices that no reader needs any more."""

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import CleaningPolicy
from hudi_operator.services.definition import TableServiceDefinition
from hudi_operator.timeline import Action, PendingInstant, PendingKind

_POLICIES = {
    CleaningPolicy.KEEP_LATEST_COMMITS: "KEEP_LATEST_COMMITS",
    CleaningPolicy.KEEP_LATEST_FILE_VERSIONS: "KEEP_LATEST_FILE_VERSIONS",
    CleaningPolicy.KEEP_LATEST_BY_HOURS: "KEEP_LATEST_BY_HOURS",
}

_TRIGGER = "hoodie.clean.trigger.max.commits"


def _deals_with(pending: PendingInstant) -> bool:
    """Tell whether a clean in Hudi finishes the instant: a pending clean or rollback."""
    return pending.kind is PendingKind.OTHER and pending.instant.action in {Action.CLEAN, Action.ROLLBACK}


def _options(spec: HudiTableSpec) -> dict[str, str]:
    cleaning = spec.cleaning
    return {
        "hoodie.clean.policy": _POLICIES[cleaning.policy],
        _TRIGGER: str(cleaning.trigger.commits),
        "hoodie.clean.commits.retained": str(cleaning.retain_commits),
        "hoodie.clean.fileversions.retained": str(cleaning.retain_file_versions),
        "hoodie.clean.hours.retained": str(cleaning.retain_hours),
    }


CLEANING = TableServiceDefinition(
    service=Service.CLEANING,
    completes=frozenset({Action.CLEAN}),
    plans=frozenset(),
    deals_with=_deals_with,
    mode=lambda spec: spec.cleaning.mode,
    inline_switch="hoodie.clean.automatic",
    other_switches=("hoodie.clean.async.enabled",),
    options=_options,
    gates_open={_TRIGGER: "1"},
    needs_all_partitions=lambda _spec: False,
)
