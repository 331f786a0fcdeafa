"""What one read of a table leaves behind for the next, so that an unmoved table costs one listing and no reading."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hudi_operator.storage import FileStamp
from hudi_operator.timeline.files.names import parse_name
from hudi_operator.timeline.model import Action, Instant, Layout, Timeline

# After this many reads the folder is listed whole and the properties are read again, whatever was seen.
READS_BETWEEN_FULL_LISTINGS = 10
# Below this a whole listing is one request to S3 anyway, and it is exact.
SMALLEST_PARTIAL_LISTING = 1000
# Writers take an instant time before they write its first file, so a file may appear behind newer ones.
_MARGIN = 100

# What these do to older instants shows only in a whole listing.
_REWRITES_HISTORY = frozenset({Action.RESTORE, Action.ROLLBACK, Action.SAVEPOINT})


@dataclass(frozen=True, slots=True)
class LastRead:
    """The names that a read found, what they meant, and how many reads ago the folder was listed whole.

    `doubtful` are the empty and damaged files with what changes when they do: the names mean the same only until then.
    """

    names: frozenset[str]
    timeline: Timeline
    settled: bool
    age: int = 0
    doubtful: Mapping[str, FileStamp | None] = field(default_factory=dict)

    @property
    def is_reusable(self) -> bool:
        """Whether the same names would mean the same again."""
        return self.settled and self.age < READS_BETWEEN_FULL_LISTINGS

    @property
    def tail_start(self) -> str:
        """The instant time after which names may have changed since this read, with a margin."""
        return tail_start(self.timeline.instants)

    @property
    def tail(self) -> frozenset[str]:
        """The names after `tail_start`."""
        start = self.tail_start
        return frozenset(name for name in self.names if name > start)


def tail_start(instants: tuple[Instant, ...]) -> str:
    """Return the time some instants before the earliest pending one, or before the newest if none is pending."""
    first = next((index for index, one in enumerate(instants) if not one.is_completed), len(instants) - 1)
    return instants[max(0, first - _MARGIN)].time if instants else ""


def rewrites_history(names: Iterable[str], layout: Layout) -> bool:
    """Tell whether any of these new files can have changed instants that are older than it."""
    parsed = (parse_name(name, layout) for name in names)
    return any(one is not None and one.kind.action in _REWRITES_HISTORY for one in parsed)
