"""Guards every write: its instants are in the table's zone and later than all existing instants.

Hudi 1.2.0 does not check. It takes the greater instant for the newer file slice (`HoodieFileGroup`), so rows written
with an instant before the newest instant become invisible.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import TIMELINE_ZONE_OPTION, FailureReason, Location
from hudi_jobs.contract.instants import LAYOUT_2_FROM, InstantFile, newest, wall_time
from hudi_jobs.contract.table.facts import ZONE_FIELD
from hudi_jobs.contract.table.zone import (
    ZONE_PROPERTY,
    shown_zone,
    signed,
    stamped_offset,
    zone_problem,
)
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, elements, hadoop_configuration

LONGEST_WAIT = timedelta(seconds=60)
"""A write waits only if the newest instant is ahead of the clock by no more than this."""

_UTC, _LOCAL = "UTC", "LOCAL"
_COMPLETED = (".commit", ".deltacommit", ".replacecommit")
_PATH = re.compile("path=([^;]*);")
"""The path in a file status's text (`FileStatus.toString`)."""
_LOGGER = logging.getLogger(__name__)


@contextmanager
def instants_in_order(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Generate instants in the table's zone within the block; yield the options with that zone.

    Waits until the clock is past the newest instant. Raises `TaskFailed` when that takes too long, or when the zone is
    uncertain. A new table is created with the options' zone.
    """
    table = _Table(spark, base_path)
    if not table.exists():
        with _generating_in(spark, _UTC, _UTC):
            yield dict(options)
        return
    kind = table.zone_kind()
    zone, own = _zone_of(spark, table, kind, options), {} if kind is None else {ZONE_PROPERTY: kind}
    with _generating_in(spark, kind or _LOCAL, zone):
        _wait_until_past(spark, table, zone)
        yield {**{key: value for key, value in options.items() if key != ZONE_PROPERTY}, **own}


@contextmanager
def completions_in_order(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> Iterator[bool]:
    """Make tables opened within the block report completion times that compare with instants.

    Layout 1 uses file times in the zone of the JVM that loads the timeline (`InstantGeneratorV1`). Hudi uses them to
    assign log files to slices: in a zone ahead, those of the newest slice count to an older slice. Metadata tables,
    with longer names, are not affected. Yields whether times matter; raises `TaskFailed` for an unknown zone.
    """
    table = _Table(spark, base_path)
    if not (table.exists() and table.slices_by_times_of_files()):
        yield False
        return
    kind = table.zone_kind()
    with _generating_in(spark, kind or _LOCAL, _zone_of(spark, table, kind, options)):
        yield True


@contextmanager
def zone_left_shown(spark: SparkSession, base_path: str) -> Iterator[None]:
    """Let Hudi rewrite `hoodie.properties` of a LOCAL table within the block, keeping the zone in its comments.

    For operations without instants: neither waits nor needs a certain zone.
    """
    table = _Table(spark, base_path)
    offset = stamped_offset(table.properties()) if table.zone_kind() != _UTC else None
    with _generating_in(spark, _LOCAL, f"GMT{signed(offset)}") if offset is not None else nullcontext():
        yield


class _Table:
    """The files with a table's instants, read again on each call."""

    def __init__(self, spark: SparkSession, base_path: str) -> None:
        self.base_path = base_path
        self._spark = spark
        self._path = classes(spark).org.apache.hadoop.fs.Path
        self._filesystem = self._path(base_path).getFileSystem(hadoop_configuration(spark))

    def exists(self) -> bool:
        return self._properties_file(self.base_path) is not None

    def properties(self) -> str:
        """Return the text of `hoodie.properties`, with its comments."""
        stream = self._filesystem.open(self._properties_file(self.base_path))
        try:
            return str(classes(self._spark).org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def zone_kind(self) -> str | None:
        """Return the table's zone property: UTC, LOCAL, or None if missing, which Hudi treats as LOCAL."""
        found = self._meta(self.base_path).getTableConfig().getProps().getProperty(ZONE_PROPERTY)
        return None if found is None else str(found).strip().upper()

    def slices_by_times_of_files(self) -> bool:
        """Tell whether timeline file times decide the slices of log files."""
        config = self._meta(self.base_path).getTableConfig()
        has_logs = str(config.getTableType().name()) == "MERGE_ON_READ"
        return has_logs and int(config.getTableVersion().versionCode()) < LAYOUT_2_FROM

    def files(self) -> list[InstantFile]:
        """List the files of the active timeline."""
        return self._files(self.base_path)

    def newest(self) -> str | None:
        """Return the greatest time in the active timelines of the table and its metadata table."""
        metadata = (Location.parse(self.base_path) / ".hoodie/metadata").url
        names = self._names(self.base_path) + (self._names(metadata) if self._properties_file(metadata) else [])
        return newest(InstantFile(name, written_ms=0) for name in names)

    def last_completed_ms(self) -> int | None:
        """Return the store's time of the newest completed write, if it decides about file slices."""
        if not self.slices_by_times_of_files():
            return None
        return max((file.written_ms for file in self.files() if file.name.endswith(_COMPLETED)), default=None)

    def _properties_file(self, base_path: str) -> JavaObject | None:
        """Return the path of a table's properties, or of their backup, which Hudi reads if they are missing."""
        file = (Location.parse(base_path) / ".hoodie/hoodie.properties").url
        paths = (self._path(name) for name in (file, f"{file}.backup"))
        return next((path for path in paths if self._filesystem.exists(path)), None)

    def _files(self, base_path: str) -> list[InstantFile]:
        found = elements(self._listed(base_path))
        return [InstantFile(str(each.getPath().getName()), int(each.getModificationTime())) for each in found]

    def _names(self, base_path: str) -> list[str]:
        """Return the names alone, in a single call; a name with a semicolon is no instant's."""
        listed = self._listed(base_path)
        names = [path.rpartition("/")[2] for path in _PATH.findall(str(listed.toString()))]
        return names if len(names) >= int(listed.size()) else [file.name for file in self._files(base_path)]

    def _listed(self, base_path: str) -> JavaObject:
        """Return the statuses of the files of the active timeline, as a Java list."""
        jvm = classes(self._spark)
        folder = self._path(str(self._meta(base_path).getTimelinePath().toString()))
        if not self._filesystem.exists(folder):
            return jvm.java.util.ArrayList()
        return jvm.org.apache.hadoop.util.functional.RemoteIterators.toList(self._filesystem.listStatusIterator(folder))

    def _meta(self, base_path: str) -> JavaObject:
        jvm = classes(self._spark)
        storage = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(hadoop_configuration(self._spark))
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(storage).setBasePath(base_path).setLoadActiveTimelineOnLoad(False).build()


def _zone_of(spark: SparkSession, table: _Table, kind: str | None, options: Mapping[str, str]) -> str:
    """Return a table's zone; for a LOCAL table, the declared zone unless its files show another."""
    if kind == _UTC:
        return _UTC
    declared = options.get(TIMELINE_ZONE_OPTION)
    files = table.files()
    shown = shown_zone(table.properties(), files)
    offset = _offset_at(spark, declared, files) if declared is not None else None
    problem = zone_problem(shown, declared, offset)
    if problem is not None:
        raise TaskFailed(
            FailureReason.TIMELINE_ZONE_UNKNOWN,
            f"{ZONE_FIELD}: {table.base_path} has {problem.found}, and nothing was written; {problem.advice}.",
        )
    if declared is not None:
        return declared
    return _UTC if shown is None or not shown.offset else f"GMT{signed(shown.offset)}"


def _offset_at(spark: SparkSession, zone: str, files: list[InstantFile]) -> timedelta | None:
    """Return a zone's offset when the newest file was written; raise `TaskFailed` for an unknown zone."""
    time_package = classes(spark).java.time
    try:
        rules = time_package.ZoneId.of(zone).getRules()
    except Py4JJavaError as error:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"There is no time zone {zone}.") from error
    if not files:
        return None
    written = time_package.Instant.ofEpochMilli(max(file.written_ms for file in files))
    return timedelta(seconds=int(rules.getOffset(written).getTotalSeconds()))


class _Zone:
    """The zone of the whole JVM, shared by threads working on the same table: the last to leave resets it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.zone: tuple[str, str] | None = None
        self.before: JavaObject = None


_ZONE = _Zone()


@contextmanager
def _generating_in(spark: SparkSession, kind: str, zone: str) -> Iterator[None]:
    """Make Hudi generate and read instants in a zone: the JVM's default zone, or UTC by a static field."""
    with _ZONE.lock:
        if not _ZONE.users:
            _enter_zone(spark, kind, zone)
        elif _ZONE.zone != (kind, zone):
            raise ValueError(f"instants are being made in {_ZONE.zone}, and would be in {(kind, zone)} as well")
        _ZONE.users += 1
    try:
        yield
    finally:
        with _ZONE.lock:
            _ZONE.users -= 1
            if not _ZONE.users:
                _leave_zone(spark)


def _enter_zone(spark: SparkSession, kind: str, zone: str) -> None:
    jvm = classes(spark)
    generator = jvm.org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator
    _ZONE.zone, _ZONE.before = (kind, zone), jvm.java.util.TimeZone.getDefault()
    jvm.java.util.TimeZone.setDefault(jvm.java.util.TimeZone.getTimeZone(jvm.java.time.ZoneId.of(zone)))
    try:
        generator.setCommitTimeZone(jvm.org.apache.hudi.common.model.HoodieTimelineTimeZone.valueOf(kind))
        _forget_other_zones(spark)
    except BaseException:
        _leave_zone(spark)
        raise


def _leave_zone(spark: SparkSession) -> None:
    with suppress(Py4JError, ConnectionError, EOFError):  # the JVM may have ended
        classes(spark).java.util.TimeZone.setDefault(_ZONE.before)


def _forget_other_zones(spark: SparkSession) -> None:
    """Make Hudi forget a later instant of another table: it would spin until the clock is past it."""
    last = _last_instant(spark)
    if str(last.get()) > _now(spark):
        last.set("0")


def newest_made(spark: SparkSession) -> str:
    """Return the newest instant generated by this JVM; before the first, a value smaller than any."""
    return newest_of(spark)()


def newest_of(spark: SparkSession) -> Callable[[], str]:
    """Return a function for the newest instant generated by this JVM, at a call each."""
    last = _last_instant(spark)
    return lambda: str(last.get())


def _last_instant(spark: SparkSession) -> JavaObject:
    name = "org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator"
    field = classes(spark).java.lang.Class.forName(name).getDeclaredField("LAST_INSTANT_TIME")
    field.setAccessible(True)
    return field.get(None)


def _now(spark: SparkSession) -> str:
    """Return the instant that Hudi would generate now."""
    return _instant_at(spark, classes(spark).java.util.Date())


def _instant_at(spark: SparkSession, date: JavaObject) -> str:
    generator = classes(spark).org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator
    return str(generator.formatDateBasedOnTimeZone(date))


def _wait_until_past(spark: SparkSession, table: _Table, zone: str) -> None:
    left = LONGEST_WAIT
    while True:
        latest, now = table.newest(), _now(spark)
        written = table.last_completed_ms()
        completed = "" if written is None else _instant_at(spark, classes(spark).java.util.Date(written))
        if completed > max(latest or "", now):
            latest = completed
        if latest is None or latest < now:
            return
        ahead = _ahead(latest, now)
        if ahead is None or ahead > left:
            explain = _explain_store if latest == completed else _explain
            raise TaskFailed(FailureReason.CLOCK_BEHIND, explain(table.base_path, latest, now, zone, ahead))
        _LOGGER.info("waiting until the clock is past the newest instant", extra={"fields": {"instant": latest}})
        pause = max(ahead, timedelta(milliseconds=5))
        time.sleep(pause.total_seconds())
        left -= pause


def _ahead(latest: str, now: str) -> timedelta | None:
    """Return how far an instant is ahead of now; None if it is no valid time and sorts after every time."""
    then, present = wall_time(latest), wall_time(now)
    return None if then is None or present is None else then - present


def _explain(base_path: str, latest: str, now: str, zone: str, ahead: timedelta | None) -> str:
    found = f"{base_path} has the instant {latest}, but the clock of this run shows {now} in {zone}"
    if ahead is None:
        return (
            f"{found}. The instant is not a valid time, and Hudi treats every instant that sorts before it as older. "
            "Remove or restore that file."
        )
    return (
        f"{found}, which is {ahead} earlier. Hudi treats the file with the later instant as newer, so rows "
        "written now would be lost. Correct the clock of the node, or wait until it is past that instant. If "
        "another tool writes the table's instants in local time, declare its zone as timelineTimeZone."
    )


def _explain_store(base_path: str, latest: str, now: str, zone: str, ahead: timedelta | None) -> str:
    return (
        f"By the clock of its store, the newest commit of {base_path} completed at {latest}, but the clock of this run "
        f"shows {now} in {zone}, which is {ahead} earlier. In a table of version 6, Hudi counts a log file to the "
        "newest base file that began before its base instant completed, so old rows would cover those written now. "
        "Correct the clock of the store or of the node, or wait until it is past that time."
    )
