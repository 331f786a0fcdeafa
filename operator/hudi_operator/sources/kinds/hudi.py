"""Another Hudi table as a source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import HudiSource
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.sources.hudi import HudiSourceSpec
from hudi_operator.sources.definition import DeclaredSource, Refusal, RunLimits, SourceSecret
from hudi_operator.sources.look import InputDigest, InputReader, digest_of
from hudi_operator.timeline import Action


@dataclass(frozen=True)
class Hudi(DeclaredSource[HudiSourceSpec]):
    """Another Hudi table, whose class allows its path as it does paths of files."""

    name = "hudi"
    limit_fields = ("maxCommitsPerRun",)
    upstream_field = "path"
    can_be_looked_at = True
    rescan_refused = None
    pattern_refused = "An upstream table is read again as a whole, by 'read' without a pattern."

    @property
    def document(self) -> HudiSource:
        """The source as the driver receives it."""
        spec = self.spec
        return HudiSource(path=spec.path, starting_commit=spec.starting_commit, on_removed_rows=spec.on_removed_rows)

    @property
    def limits(self) -> RunLimits:
        """The most commits that a run reads."""
        return {"max_commits": self.spec.max_commits_per_run}

    @property
    def secrets(self) -> tuple[SourceSecret, ...]:
        """None: pods read the store by their own identity."""
        return ()

    @property
    def paths(self) -> Mapping[str, str]:
        """The base path of the upstream table."""
        return {"path": self.spec.path}

    def refusals(
        self,
        table_class: HudiTableClass,  # noqa: ARG002 - it allows paths alone
        namespace: str,  # noqa: ARG002 - as table_class
    ) -> Iterator[Refusal]:
        """Yield nothing."""
        yield from ()

    def digest(self, reader: InputReader) -> InputDigest:
        """Return the digest of the completed instants of the upstream timeline, except cleans, which bring no rows.

        Rollbacks and restores are instants too, and archival takes instants away, so all of them change the digest.
        """
        timeline = reader.timeline(self.spec.path)
        if timeline is None:
            return digest_of(())
        instants = (one for one in timeline.completed if one.action is not Action.CLEAN)
        found = (f"{one.action} {one.time} {one.completed_at}".encode() for one in instants)
        return digest_of((None, *found))  # the table itself is no input

    @property
    def skipped(self) -> None:
        """None: runs skip no commit."""

    @property
    def without_input(self) -> None:
        """None: a run says what is missing."""

    @property
    def upstream(self) -> str:
        """The base path of the upstream table."""
        return self.spec.path
