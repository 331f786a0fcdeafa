"""Looks at the sources of tables before runs, at most once a minute for each table."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import structlog

from hudi_jobs.contract import Location, NotALocation
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots.pool import counted
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.kube.keys import TableKey
from hudi_operator.sources.definition import DeclaredSource
from hudi_operator.sources.look import LOOK_PAUSE, InputDigest, LookProblem, SourceLook
from hudi_operator.sources.registry import declared_source
from hudi_operator.storage import StorageError, StorageErrorKind, StoredFile, parse_url
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.timeline import (
    ContentTooLarge,
    CorruptContent,
    NotAHudiTable,
    TableUnreadable,
    Timeline,
    UnreadableCause,
)
from hudi_operator.timeline.model import ReadBudgetSpent

_PAUSE_SECONDS = LOOK_PAUSE.total_seconds() - 2
"""A tick may come a little early: status holds whole seconds, and the API server's clock may be set."""

_log = structlog.get_logger(__name__)

_PROBLEMS = {
    StorageErrorKind.ACCESS_DENIED: LookProblem.NOT_ALLOWED,
    StorageErrorKind.TOO_LARGE: LookProblem.TOO_LARGE,
    UnreadableCause.ACCESS_DENIED: LookProblem.NOT_ALLOWED,
    UnreadableCause.TOO_LARGE: LookProblem.TOO_LARGE,
}
"""The problems that are not `UNREACHABLE`."""


class SourceLooks(Protocol):
    """Looks at sources for the observer; implemented by `SourceLooker`.

    Call `look` only for a table whose class, namespace and claim allow it.
    """

    def last(self, key: TableKey, table: HudiTable, table_class: HudiTableClass) -> SourceLook | None:
        """Return the last look of this process at the source as the spec declares it now, without a request."""
        ...

    async def look(self, key: TableKey, table: HudiTable, table_class: HudiTableClass) -> SourceLook:
        """Look at the source of a table, or return the last look if it is less than a minute old."""
        ...

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        ...


@dataclass(frozen=True, slots=True)
class _Question:
    """What a look is about; equal questions may share a look."""

    uid: str
    source: DeclaredSource[Any]
    store: ObjectStore | None


@dataclass(frozen=True, slots=True)
class _Last:
    question: _Question
    look: SourceLook
    asked_at: float
    """Seconds of the event loop's clock."""


class SourceLooker:
    """Reads sources by the operator's own identity, in the threads of their store and behind reads of timelines.

    `now` returns the API server's time. A table has one look in `pause_seconds`.
    """

    def __init__(
        self,
        snapshots: SnapshotReader,
        *,
        now: Callable[[], datetime],
        enabled: bool = True,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        self._snapshots = snapshots
        self._now = now
        self._enabled = enabled
        self._pause = pause_seconds
        self._last: dict[TableKey, _Last] = {}

    def last(self, key: TableKey, table: HudiTable, table_class: HudiTableClass) -> SourceLook | None:
        """Return the last look of this process at the source as the spec declares it now, without a request."""
        source = declared_source(table.spec)
        if source is None or not source.can_be_looked_at:
            return None
        if not self._enabled:
            return _switched_off(self._now())
        last = self._last.get(key)
        return last.look if last is not None and last.question == _question(table, table_class, source) else None

    async def look(self, key: TableKey, table: HudiTable, table_class: HudiTableClass) -> SourceLook:
        """Look at the source of a table, or return the last look if it is less than a minute old."""
        at, source = self._now(), declared_source(table.spec)
        if source is None:
            raise ValueError(f"{key} has no source")
        if not self._enabled:
            return _switched_off(at)
        question, known = _question(table, table_class, source), self._last.get(key)
        asked_at = asyncio.get_running_loop().time()
        if known is not None and asked_at - known.asked_at < self._pause:
            return known.look if known.question == question else _changed(at)
        started = perf_counter()
        look = _obstacle(table, table_class, source, at) or await self._ask(question, table, at)
        metrics.source_look(result=look.problem or "success", seconds=perf_counter() - started)
        self._last[key] = _Last(question, look, asked_at)
        return look

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        self._last.pop(key, None)

    async def _ask(self, question: _Question, table: HudiTable, at: datetime) -> SourceLook:
        namespace = table.metadata.namespace
        location = Location.parse(next(iter(question.source.paths.values()), table.spec.base_path))
        read = partial(self._read, question, namespace, at)
        found = await self._snapshots.pool.run(location, question.store, namespace, read, is_look=True)
        if isinstance(found, str):
            return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message=found)
        return found

    def _read(self, question: _Question, namespace: str, at: datetime) -> SourceLook:
        """Return the look; every error becomes its problem, so that the schedule decides."""
        try:
            found = question.source.digest(_Reader(self._snapshots, question.store, namespace))
        except StorageError as error:
            return _failed(at, _PROBLEMS.get(error.kind), error)
        except TableUnreadable as error:
            return _failed(at, _PROBLEMS.get(error.cause), error)
        except (CorruptContent, ReadBudgetSpent) as error:
            return _failed(at, None, error)
        except ContentTooLarge as error:
            return _failed(at, LookProblem.TOO_LARGE, error)
        except Exception:  # noqa: BLE001 - a look never ends a reconcile
            _log.exception("source not read", source=question.source.name, namespace=namespace)
            message = "The source could not be read, by an error that the operator's log describes."
            return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message=message)
        return _succeeded(at, found)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a source's store in a thread, and counts its requests apart."""

    snapshots: SnapshotReader
    store: ObjectStore | None
    namespace: str

    def files_below(self, path: str) -> Iterator[Sequence[StoredFile]]:
        """Yield every file at or below a path in pages; nothing for a path that does not exist."""
        location = parse_url(path)
        filesystem = self.snapshots.pool.open(location, self.store, self.namespace)
        with counted(filesystem, is_look=True) as counting:
            try:
                yield from counting.list_below(location.path)
            except StorageError as error:
                if error.kind is not StorageErrorKind.NOT_FOUND:
                    raise

    def timeline(self, base_path: str) -> Timeline | None:
        """Return the timeline of a table, or None if no table exists."""
        location = parse_url(base_path)
        filesystem = self.snapshots.pool.open(location, self.store, self.namespace)
        with counted(filesystem, is_look=True) as counting:
            try:
                return self.snapshots.timeline_reader(counting, self.namespace).read(location)
            except NotAHudiTable:
                return None


def _question(table: HudiTable, table_class: HudiTableClass, source: DeclaredSource[Any]) -> _Question:
    return _Question(table.metadata.uid, source, table_class.spec.object_store)


def _succeeded(at: datetime, found: InputDigest | None) -> SourceLook:
    if found is None:
        return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message="The operator cannot read such a source.")
    return SourceLook(at=at, digest=found.digest, inputs=found.inputs, listed=found.listed)


def _failed(at: datetime, problem: LookProblem | None, error: Exception) -> SourceLook:
    return SourceLook(at=at, problem=problem or LookProblem.UNREACHABLE, message=str(error))


def _switched_off(at: datetime) -> SourceLook:
    message = "objectStore.listSources of the operator's chart is false, so the operator lists no sources."
    return SourceLook(at=at, problem=LookProblem.SWITCHED_OFF, message=message)


def _changed(at: datetime) -> SourceLook:
    message = "The spec has changed within a minute of the last look, and a table has one look a minute."
    return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message=message)


def _obstacle(
    table: HudiTable, table_class: HudiTableClass, source: DeclaredSource[Any], at: datetime
) -> SourceLook | None:
    """Return why the operator would see another place than the pods, or None."""
    message = next((why for path in source.paths.values() if (why := _elsewhere(table, table_class, path))), None)
    return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message=message) if message is not None else None


def _elsewhere(table: HudiTable, table_class: HudiTableClass, path: str) -> str | None:
    try:
        place, base = Location.parse(path), Location.parse(table.spec.base_path)
    except NotALocation:
        return f"{path!r} is no path that the operator can list."
    if place.store == "file" and base.store != "file":
        return f"{path} is in the file systems of pods, which the operator cannot see."
    store = table_class.spec.object_store
    endpoint = store.endpoint if store is not None else None
    keys = ("spark.hadoop.fs.s3a.endpoint", f"spark.hadoop.fs.s3a.bucket.{place.bucket}.endpoint")
    settings = {**table_class.spec.spark_conf, **table.spec.spark_conf}
    other = next((key for key in keys if settings.get(key, endpoint) != endpoint), None)
    if place.store == "s3" and other is not None:
        return f"sparkConf sets {other}, so pods read {path} from another store than the operator."
    return None
