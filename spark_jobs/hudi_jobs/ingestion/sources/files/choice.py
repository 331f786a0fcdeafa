"""Finds the unread files of a source batch by batch, so that memory holds only unread files."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hudi_jobs.contract import FileSource, RescanRequest
from hudi_jobs.contract.sources.files import is_visible, matches
from hudi_jobs.ingestion.sources.files.record import LoadedSegment, fingerprint, known_among
from hudi_jobs.ingestion.sources.files.selection import SourceFile


@dataclass(frozen=True)
class Question:
    """Decides of every file whether it is input, and whether it has been read.

    `rescan` is the request to read files again that no run has served yet.
    """

    source: FileSource
    record: Sequence[LoadedSegment]
    rescan: RescanRequest | None = None


@dataclass
class Answer:
    """The unread files, and the files that the record forgets."""

    waiting: list[SourceFile] = field(default_factory=list)
    forgotten: set[bytes] = field(default_factory=set)
    listed: bytearray = field(default_factory=bytearray)
    candidates: int = 0

    def examine(self, question: Question, root: str, batch: Sequence[SourceFile]) -> None:
        """Examine some files of the source at a canonical path."""
        prints = {
            fingerprint(root, file): file for file in batch if is_visible(file.path, file.size, question.source.format)
        }
        known = known_among(prints, question.record)
        for mark, file in prints.items():
            self.listed += mark
            if question.source.selects(file.path, file.size):
                self.candidates += 1
                self._evaluate(question, file, mark, is_known=mark in known)

    def _evaluate(self, question: Question, file: SourceFile, mark: bytes, *, is_known: bool) -> None:
        if is_known and question.rescan is not None and matches(file.path, question.rescan.glob):
            self.forgotten.add(mark)
            is_known = False
        if not is_known:
            self.waiting.append(file)
