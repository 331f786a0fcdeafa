"""The read and the unread commits of an upstream table: pure values."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class UpstreamCommit:
    """A completed commit. Commits are in the order of their completion; rows carry `instant`."""

    completed: str
    instant: str
    action: str
    archived: bool = False


@dataclass(frozen=True)
class Look:
    """A timeline at a moment.

    `commits` are the completed instants of the active timeline, of any action. `first_pending` is the earliest pending
    instant. `cleaned` are the completed cleans, which had deleted their files before the look. `archive` names the
    files of the archive as they were after the active timeline was read, so that they hold every instant that had left
    it.
    """

    commits: tuple[UpstreamCommit, ...]
    first_pending: str | None
    cleaned: frozenset[str]
    archive: str

    @property
    def instants(self) -> frozenset[str]:
        """The completed instants of the active timeline."""
        return frozenset(one.instant for one in self.commits)

    def keeps(self, retained_from: str) -> bool:
        """Tell whether a clean that keeps the slices needed from this instant on takes no file of this look.

        Hudi keeps of each file group all slices from that instant on, and the newest slice before it. A pending commit
        may become that newest slice, so it must not lie before the instant either.
        """
        newest = max((one.instant for one in self.commits), default="")
        bound = newest if self.first_pending is None else min(newest, self.first_pending)
        return bool(retained_from) and retained_from <= bound


def unread(look: Look, archived: Iterable[UpstreamCommit], read: Collection[str]) -> tuple[UpstreamCommit, ...]:
    """Return the unread commits in the order of completion, in the active timeline or the archive."""
    active = look.instants
    found = [one for one in look.commits if one.instant not in read]
    found += [one for one in archived if one.instant not in read and one.instant not in active]
    return tuple(sorted(found))


def kept_in_mind(look: Look, archived: Iterable[UpstreamCommit], read: Iterable[str], through: str) -> tuple[str, ...]:
    """Return the instants of read commits that the checkpoint names.

    For archived commits the time of completion suffices, except if it is the last.
    """
    named = look.instants | {one.instant for one in archived if one.completed == through}
    return tuple(sorted(named.intersection(read)))
