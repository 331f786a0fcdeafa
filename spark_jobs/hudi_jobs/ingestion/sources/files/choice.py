"""Which files of a source are unread, found batch by batch, so that memory holds the unread ones and not all."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hudi_jobs.contract import FileFormat, RescanRequest
from hudi_jobs.ingestion.sources.files.floor import Floor
from hudi_jobs.ingestion.sources.files.record import Kind, LoadedSegment, below, fingerprint, known_among
from hudi_jobs.ingestion.sources.files.selection import SourceFile, is_visible, matches

_NAMED = 3


@dataclass(frozen=True)
class Question:
    """What is asked of every file: whether it is input, and whether it has been read.

    `floor` is that of a checkpoint of release 0.1, with its source in the canonical spelling. `rescan` is the request
    to read files again that has not been served yet.
    """

    glob: str | None
    format: FileFormat
    record: Sequence[LoadedSegment]
    floor: Floor | None = None
    rescan: RescanRequest | None = None


@dataclass
class Answer:
    """What was found: the unread files, and what the record learns and forgets."""

    waiting: list[SourceFile] = field(default_factory=list)
    learnt: dict[Kind, set[bytes]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    forgotten: set[bytes] = field(default_factory=set)
    listed: bytearray = field(default_factory=bytearray)
    candidates: int = 0
    skipped: int = 0
    skipped_names: list[str] = field(default_factory=list)

    def examine(self, question: Question, root: str, batch: Sequence[SourceFile]) -> None:
        """Take in some files of the source at a canonical path."""
        prints = {fingerprint(root, file): file for file in batch if is_visible(file, question.format)}
        known = known_among(prints, question.record)
        for mark, file in prints.items():
            self.listed += mark
            kind = known.get(mark) or self._below_floor(question, root, file, mark)
            if matches(file, question.glob):
                self.candidates += 1
                self._evaluate(question, file, mark, kind)

    def assume(self, question: Question, root: str, batch: Sequence[SourceFile]) -> None:
        """Take in files that only the floor has to do with: today's source lies inside the floor's."""
        for file in batch:
            if is_visible(file, question.format):
                self._below_floor(question, root, file, fingerprint(root, file))

    def _below_floor(self, question: Question, root: str, file: SourceFile, mark: bytes) -> Kind | None:
        if question.floor is None:
            return None
        path = below(f"{root}/{file.path}" if file.path else root, question.floor.source)
        if path is None:
            return None
        kind = question.floor.kind_of(SourceFile(file.time, path, file.size), matched=matches(file, question.glob))
        if kind is not None:
            self.learnt[kind].add(mark)
        return kind

    def _evaluate(self, question: Question, file: SourceFile, mark: bytes, kind: Kind | None) -> None:
        rescan = question.rescan
        if kind is not None and rescan is not None and rescan.wants(kind) and matches(file, rescan.glob):
            self.forgotten.add(mark)
            for learnt in self.learnt.values():
                learnt.discard(mark)
            kind = None
        if kind is None:
            self.waiting.append(file)
        elif kind is Kind.SKIPPED:
            self.skipped += 1
            if len(self.skipped_names) < _NAMED:
                self.skipped_names.append(file.path)
