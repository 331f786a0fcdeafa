"""Looks at timelines: blocking reads in threads of their own, so that a dead store stalls nothing else."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from time import perf_counter

from hudi_jobs.contract import CHECKPOINT_KEY, RUN_KEY
from hudi_operator.api.table_class import ObjectStore
from hudi_operator.planning.model import TimelineLook, TimelineTrouble
from hudi_operator.storage import FileSystem, S3Options, StorageError, StorageErrorKind, open_filesystem
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.timeline import (
    ContentCache,
    CorruptContent,
    NotAHudiTable,
    TableUnreadable,
    TimelineReader,
    UnreadableCause,
)

_RUNS_READ = 10
"""Newest commits whose metadata is searched for runs; a serialized table's last run is always among them."""

_CHECKPOINT_SHOWN = 500

_TROUBLES = {
    UnreadableCause.NOT_FOUND: TimelineTrouble.NOT_FOUND,
    UnreadableCause.ACCESS_DENIED: TimelineTrouble.ACCESS_DENIED,
    UnreadableCause.UNREACHABLE: TimelineTrouble.UNREACHABLE,
    UnreadableCause.CORRUPT: TimelineTrouble.CORRUPT,
    UnreadableCause.UNSUPPORTED: TimelineTrouble.UNSUPPORTED,
}


class TimelineLooks:
    """Reads timelines for the reconciler; one instance, and one cache, serve all tables of the process."""

    def __init__(self, *, threads: int = 16, timeout_seconds: float = 60.0) -> None:
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="timeline")
        self._timeout = timeout_seconds
        self._cache = ContentCache()
        self._filesystems: dict[tuple[str, ObjectStore | None], FileSystem] = {}

    async def look(self, base_path: str, store: ObjectStore | None) -> TimelineLook:
        """Look at one table; every failure of the store is part of the answer, none is raised."""
        started = perf_counter()
        found = await self._bounded(base_path, store)
        result = "success" if found.trouble is None else found.trouble.value
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return found

    async def _bounded(self, base_path: str, store: ObjectStore | None) -> TimelineLook:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                return await loop.run_in_executor(self._threads, self._read, base_path, store)
        except TimeoutError:
            message = f"The store did not answer for {base_path} within {self._timeout:.0f} s; it is asked again."
            return TimelineLook(trouble=TimelineTrouble.UNREACHABLE, message=message)

    def close(self) -> None:
        """Take no further looks; those under way end with their own time limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _read(self, base_path: str, store: ObjectStore | None) -> TimelineLook:
        try:
            filesystem, path = self._open(base_path, store)
            reader = TimelineReader(filesystem, self._cache)
            timeline = reader.read(path)
            checkpoint: str | None = None
            runs: list[tuple[str, str]] = []
            for instant, metadata in islice(reader.commits(path, timeline), _RUNS_READ):
                checkpoint = checkpoint or metadata.extra_metadata.get(CHECKPOINT_KEY)
                if RUN_KEY in metadata.extra_metadata:
                    runs.append((metadata.extra_metadata[RUN_KEY], instant.time))
            return TimelineLook(timeline=timeline, checkpoint=readable_checkpoint(checkpoint), runs=tuple(runs))
        except NotAHudiTable:
            return TimelineLook()
        except TableUnreadable as error:
            return TimelineLook(trouble=_TROUBLES[error.cause], message=str(error))
        except CorruptContent as error:
            return TimelineLook(trouble=TimelineTrouble.CORRUPT, message=str(error))
        except StorageError as error:
            denied = error.kind is StorageErrorKind.ACCESS_DENIED
            trouble = TimelineTrouble.ACCESS_DENIED if denied else TimelineTrouble.UNREACHABLE
            return TimelineLook(trouble=trouble, message=str(error))

    def _open(self, base_path: str, store: ObjectStore | None) -> tuple[FileSystem, str]:
        filesystem, path = open_filesystem(base_path, _options(store))
        # One client, and so one pool of connections, for all tables of a bucket.
        return self._filesystems.setdefault((filesystem.identity, store), filesystem), path


def _options(store: ObjectStore | None) -> S3Options | None:
    if store is None:
        return None
    return S3Options(endpoint=store.endpoint, region=store.region, virtual_hosted=not store.path_style_access)


def readable_checkpoint(text: str | None) -> str | None:
    """Return the newest source file that a commit's checkpoint names, with its time, for people."""
    if text is None:
        return None
    try:
        watermark = json.loads(text)["watermark"]
        moment = datetime.fromtimestamp(watermark["time"] / 1000, UTC).isoformat(timespec="milliseconds")
        return f"{moment.replace('+00:00', 'Z')} {watermark['path']}"[:_CHECKPOINT_SHOWN]
    except (ValueError, KeyError, TypeError, OverflowError):
        return text[:_CHECKPOINT_SHOWN]
