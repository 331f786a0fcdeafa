"""Which work pending instants stand for."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import Instant, TimelineReader
from hudi_operator.timeline.model import Action, State
from hudi_operator.timeline.rules.counters import PendingInstant, PendingKind, pending_instants

CLUSTER = b'{"operationType": "CLUSTER"}'
OVERWRITE = b'{"operationType": null}'
LAYOUT_1 = {"table_version": "6", "timeline_layout_version": "1"}


@pytest.mark.parametrize(
    ("files", "properties", "kind", "state"),
    [
        ({"1.clustering.requested": CLUSTER}, {}, PendingKind.CLUSTERING, State.REQUESTED),
        (
            {"1.clustering.requested": CLUSTER, "1.clustering.inflight": b""},
            {},
            PendingKind.CLUSTERING,
            State.INFLIGHT,
        ),
        ({"1.replacecommit.requested": CLUSTER}, {}, PendingKind.CLUSTERING, State.REQUESTED),
        ({"1.replacecommit.requested": OVERWRITE}, {}, PendingKind.WRITE, State.REQUESTED),
        ({"1.replacecommit.requested": CLUSTER}, LAYOUT_1, PendingKind.CLUSTERING, State.REQUESTED),
        (
            {"1.replacecommit.requested": CLUSTER, "1.replacecommit.inflight": b""},
            LAYOUT_1,
            PendingKind.CLUSTERING,
            State.INFLIGHT,
        ),
        (
            {"1.replacecommit.requested": OVERWRITE, "1.replacecommit.inflight": b""},
            LAYOUT_1,
            PendingKind.WRITE,
            State.INFLIGHT,
        ),
        ({"1.replacecommit.requested": b"damaged"}, {}, PendingKind.UNKNOWN, State.REQUESTED),
        ({"1.compaction.requested": b""}, {}, PendingKind.COMPACTION, State.REQUESTED),
        ({"1.logcompaction.inflight": b""}, {}, PendingKind.LOG_COMPACTION, State.INFLIGHT),
        ({"1.inflight": b""}, {}, PendingKind.WRITE, State.INFLIGHT),
        ({"1.deltacommit.requested": b""}, {}, PendingKind.WRITE, State.REQUESTED),
        ({"1.clean.requested": b""}, {}, PendingKind.OTHER, State.REQUESTED),
        ({"1.rollback.inflight": b""}, {}, PendingKind.OTHER, State.INFLIGHT),
    ],
)
def test_a_pending_instant_says_what_it_is_and_how_far_it_came(
    files: dict[str, bytes], properties: dict[str, str], kind: PendingKind, state: State, make_table: Any
) -> None:
    timeline = TimelineReader(make_table(files, **properties)).read(Location.parse("/t"))
    (found,) = pending_instants(timeline)
    assert found == PendingInstant(timeline.pending[0], kind)
    assert found.instant.state is state


def test_completed_instants_are_not_pending(make_table: Any) -> None:
    timeline = TimelineReader(make_table({"1.commit.requested": b"", "1.inflight": b"", "1_2.commit": b""})).read(
        Location.parse("/t")
    )
    assert pending_instants(timeline) == ()


def test_a_pending_instant_is_as_old_as_the_file_of_its_state(make_table: Any) -> None:
    filesystem = make_table({"1.clustering.requested": CLUSTER, "1.clustering.inflight": b""})
    filesystem.times = {
        "/t/.hoodie/timeline/1.clustering.requested": 1000,
        "/t/.hoodie/timeline/1.clustering.inflight": 2000,
    }
    reader = TimelineReader(filesystem)
    timeline = reader.read(Location.parse("/t"))
    (instant,) = timeline.pending
    assert reader.written_at(Location.parse("/t"), timeline.properties, instant) == 2000
    assert reader.written_at(Location.parse("/t"), timeline.properties, instant._replace(state=State.REQUESTED)) == 1000
    # A file is asked for once.
    filesystem.times.clear()
    assert reader.written_at(Location.parse("/t"), timeline.properties, instant) == 2000


def test_a_pending_instant_that_is_gone_has_no_age(real_table: Any) -> None:
    base = str(real_table("1.2.0-cow-clustering-inflight"))
    reader = TimelineReader(LocalFileSystem())
    timeline = reader.read(Location.parse(base))
    assert timeline.pending
    assert all(reader.written_at(Location.parse(base), timeline.properties, instant) for instant in timeline.pending)
    gone = Instant("1", Action.CLUSTERING, State.INFLIGHT)
    assert reader.written_at(Location.parse(base), timeline.properties, gone) is None
