"""Archival: moving old instants out of the active timeline."""

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.services.definition import TableServiceDefinition


def _options(spec: HudiTableSpec) -> dict[str, str]:
    return {
        "hoodie.keep.min.commits": str(spec.archival.min_commits),
        "hoodie.keep.max.commits": str(spec.archival.max_commits),
        # Hudi cannot restore to a savepoint once it has archived beyond it.
        "hoodie.archive.beyond.savepoint": "false",
    }


ARCHIVAL = TableServiceDefinition(
    service=Service.ARCHIVAL,
    completes=frozenset(),
    plans=frozenset(),
    deals_with=lambda _pending: False,
    mode=lambda spec: spec.archival.mode,
    inline_switch="hoodie.archive.automatic",
    other_switches=("hoodie.archive.async",),
    options=_options,
    gates_open={},
    needs_all_partitions=lambda _spec: False,
)
