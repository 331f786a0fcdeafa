"""The state kept between two reads of a table, so that an unchanged table costs a single listing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hudi_operator.storage import FileStamp
from hudi_operator.timeline.files.names import parse_name
from hudi_operator.timeline.model import Action, Instant, Layout, Timeline

# After this many reads, list the whole folder and read the properties again.
READS_BETWEEN_FULL_LISTINGS = 10
# A smaller timeline is listed whole: S3 needs only one request for it, and the result is exact.
SMALLEST_PARTIAL_LISTING = 1000
# Writers choose an instant time before they write its first file, so a file may appear behind newer ones.
_MARGIN = 100

# Only a whole listing shows how these actions changed older instants.
_REWRITES_HISTORY = frozenset({Action.RESTORE, Action.ROLLBACK, Action.SAVEPOINT})


@dataclass(frozen=True, slots=True)
class LastRead:
    """The names of a read, the resulting timeline, and the number of reads since a whole listing.

    `doubtful` are the empty and damaged files with their stamps: the timeline holds only until one changes.
    """

    names: tuple[str, ...]
    timeline: Timeline
    settled: bool
    age: int = 0
    doubtful: Mapping[str, FileStamp | None] = field(default_factory=dict)

    @property
    def is_reusable(self) -> bool:
        """Whether the same names would give the same timeline."""
        return self.settled and self.age < READS_BETWEEN_FULL_LISTINGS

    @property
    def tail_start(self) -> str:
        """The instant time after which names may have changed, with a margin."""
        return tail_start(self.timeline.instants)

    @property
    def tail(self) -> frozenset[str]:
        """The names after `tail_start`."""
        start = self.tail_start
        return frozenset(name for name in self.names if name > start)


def tail_start(instants: tuple[Instant, ...]) -> str:
    """Return a time shortly before the earliest pending instant, or before the newest if none is pending."""
    first = next((index for index, one in enumerate(instants) if not one.is_completed), len(instants) - 1)
    return instants[max(0, first - _MARGIN)].time if instants else ""


def rewrites_history(names: Iterable[str], layout: Layout) -> bool:
    """Tell whether any of these new files may have changed older instants."""
    parsed = (parse_name(name, layout) for name in names)
    return any(one is not None and one.kind.action in _REWRITES_HISTORY for one in parsed)
