"""Which commits of an upstream table have been read and which come next: pure values."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class UpstreamCommit:
    """A completed commit. Commits are in the order of their completion; `instant` is what its rows carry."""

    completed: str
    instant: str
    action: str
    archived: bool = False


@dataclass(frozen=True)
class Look:
    """A timeline as it was at one moment.

    `commits` are those of the active timeline that have completed, of whatever action. `first_pending` is the earliest
    instant that has not. `cleaned` are the cleans that have completed, whose files were gone before the look.
    `archive` names the files of the archive, as they were after the active timeline had been read: what has left that
    timeline is in them.
    """

    commits: tuple[UpstreamCommit, ...]
    first_pending: str | None
    cleaned: frozenset[str]
    archive: str

    @property
    def instants(self) -> frozenset[str]:
        """The instants of the active timeline that have completed."""
        return frozenset(one.instant for one in self.commits)

    def keeps(self, retained_from: str) -> bool:
        """Tell whether a clean that keeps what readers from this instant on need takes no file of this look.

        Hudi keeps of each file group all slices from that instant on, and the newest one before it. A commit that is
        pending here may become that newest one, so it must not lie before the instant either.
        """
        newest = max((one.instant for one in self.commits), default="")
        bound = newest if self.first_pending is None else min(newest, self.first_pending)
        return bool(retained_from) and retained_from <= bound


def unread(look: Look, archived: Iterable[UpstreamCommit], read: Collection[str]) -> tuple[UpstreamCommit, ...]:
    """Return the commits that have not been read, those first that completed first, wherever they are by now."""
    active = look.instants
    found = [one for one in look.commits if one.instant not in read]
    found += [one for one in archived if one.instant not in read and one.instant not in active]
    return tuple(sorted(found))


def kept_in_mind(look: Look, archived: Iterable[UpstreamCommit], read: Iterable[str], through: str) -> tuple[str, ...]:
    """Return the instants of what has been read that the checkpoint names.

    Of those that are archived by now the time of completion is enough, except where it is the last one.
    """
    named = look.instants | {one.instant for one in archived if one.completed == through}
    return tuple(sorted(named.intersection(read)))
