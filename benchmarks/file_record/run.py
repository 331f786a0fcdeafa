"""Measures the cost of remembering every read file: bytes, processor time and memory of one run's choice.

Two ways are compared. `record` is what the driver does: fingerprints in merged segments beside the table, named by the
checkpoint. `in commit` would put every fingerprint into the checkpoint itself, and so into each commit. A table of N
files is made by runs of one size; then one more run finds one new file among all of them. The store is memory here: a
request to a real one and the listing of the source come on top, and are the same for both.

    .venv/bin/python benchmarks/file_record/run.py
"""

import base64
import json
import os
import resource
import time
from collections.abc import Callable, Iterator

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.ingestion.checkpoint import encode_checkpoint
from hudi_jobs.ingestion.sources.files.progress import Answer, FileProgress, Question
from hudi_jobs.ingestion.sources.files.record import LoadedSegment, Segment, fingerprint, grown, opened
from hudi_jobs.ingestion.sources.files.selection import SourceFile, select_files

ROOT = "s3://landing/team-a/flights"
SOURCE = FileSource(path=ROOT, format=FileFormat.PARQUET)
BATCH = 50_000
CASES = ((1, 1), (10_000, 10), (10_000, 1_000), (1_000_000, 100_000))


def listed(files: int) -> Iterator[list[SourceFile]]:
    """Yield a listing in batches, like the driver reads one, with names as long as in real sources."""
    for start in range(0, files, BATCH):
        yield [named(number) for number in range(start, min(start + BATCH, files))]


def named(number: int) -> SourceFile:
    path = f"day=2026-{number % 12:02}-{number % 28:02}/part-{number:08}-7f6c2c51-9d3e-4c09.snappy.parquet"
    return SourceFile(time=1_700_000_000_000 + number * 1000, path=path, size=1_000_000 + number)


class Store:
    """Segments in memory, with counts of writes and reads."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.segments: tuple[Segment, ...] = ()
        self.written = 0
        self.writes = 0
        self.sequence = 0

    def load(self) -> tuple[LoadedSegment, ...]:
        found = [opened(segment, self.contents[segment.name]) for segment in self.segments]
        return tuple(one for one in found if one is not None)

    def commit(self, record: tuple[LoadedSegment, ...], added: set[bytes]) -> None:
        self.sequence += 1
        growth = grown(record, added)
        sealed = [draft.sealed(sequence=self.sequence, run="run") for draft in growth.drafts]
        self.segments = (*growth.kept, *(segment for segment, _ in sealed))
        self.contents |= {segment.name: content for segment, content in sealed}
        self.written += sum(len(content) for _, content in sealed)
        self.writes += 1

    def history(self, files: int, *, per_run: int) -> None:
        for start in range(0, files, per_run):
            prints = {fingerprint(ROOT, named(number)) for number in range(start, min(start + per_run, files))}
            self.commit(self.load(), prints)
            self.contents = {segment.name: self.contents[segment.name] for segment in self.segments}


def choose_by_record(store: Store, files: int) -> Callable[[], int]:
    def choose() -> int:
        answer, question = Answer(), Question(SOURCE, store.load())
        for batch in listed(files + 1):
            answer.examine(question, ROOT, batch)
        return len(select_files(answer.waiting, max_files=None, max_bytes=None).files)

    return choose


def choose_in_commit(text: str, files: int) -> Callable[[], int]:
    def choose() -> int:
        known = {base64.urlsafe_b64decode(one) for one in json.loads(text)["read"]}
        return sum(fingerprint(ROOT, file) not in known for batch in listed(files + 1) for file in batch)

    return choose


def measured(choose: Callable[[], int]) -> tuple[float, float]:
    """Return the processor seconds, and the peak memory in MB above the start, of a process of its own."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        assert choose() == 1
        seconds = time.process_time() - began
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os.write(writer, f"{seconds} {taken}".encode())
        os._exit(0)
    os.wait()
    seconds, kilobytes = os.read(reader, 100).decode().split()
    return float(seconds), int(kilobytes) / 1000


def main() -> None:
    print(
        "| files | per run | way | in each commit | read per run | written per run (mean) | segments | CPU | memory |"
    )
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    for files, per_run in CASES:
        store = Store()
        store.history(files, per_run=per_run)
        commit = len(encode_checkpoint(FileProgress(segments=store.segments).checkpoint()))
        size = sum(segment.length for segment in store.segments)
        seconds, memory = measured(choose_by_record(store, files))
        figures = f"{commit:,} B | {commit + size:,} B | {store.written // store.writes:,} B | {len(store.segments)}"
        print(f"| {files:,} | {per_run:,} | record | {figures} | {seconds:.2f} s | {memory:.0f} MB |", flush=True)
        prints = [
            base64.urlsafe_b64encode(fingerprint(ROOT, file)).decode() for batch in listed(files) for file in batch
        ]
        text = json.dumps({"read": prints})
        seconds, memory = measured(choose_in_commit(text, files))
        figures = f"{len(text):,} B | {len(text):,} B | {len(text) // 2:,} B | 0"
        print(f"| {files:,} | {per_run:,} | in commit | {figures} | {seconds:.2f} s | {memory:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
