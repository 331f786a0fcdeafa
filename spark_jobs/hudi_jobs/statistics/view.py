"""Reads file slices and commits from Hudi, as JSON that Hudi writes of its own objects.

A call into the JVM takes a tenth of a millisecond and a slice has ten values, so no slice is read value by value.
"""

import json
from collections.abc import Iterator
from contextlib import closing

from pyspark.sql import SparkSession

from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.spark.jvm import JavaObject, classes, elements
from hudi_jobs.statistics.file_sizes import Slice, read_rows, read_slices
from hudi_jobs.table import HudiTable, commit_metadata

_PARTITIONS = 500
"""The partitions to hold in memory at once: the view keeps every file version of each."""

_CHANGES = ("commit", "deltacommit", "replacecommit", "clustering", "rollback", "restore")
"""Actions that change which files a query reads."""


class FilesView:
    """Hudi's view of a table's files, from the metadata table if there is one, as of the table's opening."""

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._table = table
        self._jvm = classes(spark)

    @property
    def as_of(self) -> str | None:
        """The completion of the newest change; in layout 1, its request. None before the first commit."""
        changes = self._completed(*_CHANGES)
        if changes.empty():
            return None
        if self._table.version < LAYOUT_2_FROM:
            return str(changes.lastInstant().get().requestedTime())
        return str(changes.getLatestCompletionTime().get())

    @property
    def newest(self) -> str | None:
        """The request of the newest completed commit."""
        last = self._table.completed_commits().lastInstant()
        return str(last.get().requestedTime()) if last.isPresent() else None

    def restored_after(self, completion: str) -> bool:
        """Tell whether a restore completed after this time."""
        restores = self._completed("restore")
        if restores.empty():
            return False
        return bool(str(restores.getLatestCompletionTime().get()) > completion)

    def partitions(self) -> Iterator[list[Slice]]:
        """Yield the slices of each partition that a snapshot query reads."""
        jvm, meta = self._jvm, self._table.meta
        timeline = meta.getActiveTimeline().getWriteTimeline().filterCompletedAndCompactionInstants()
        newest = timeline.lastInstant()
        if not newest.isPresent():
            return
        instant = str(newest.get().requestedTime())
        is_listed = meta.getTableConfig().isMetadataTableAvailable()
        config = jvm.org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(is_listed).build()
        context = jvm.org.apache.hudi.common.engine.HoodieLocalEngineContext(meta.getStorageConf())
        factory = meta.getTableFormat().getMetadataFactory()
        with closing(factory.create(context, meta.getStorage(), config, self._table.base_path)) as files:
            paths = files.getAllPartitionPaths()
            names = json.loads(self._json(paths))
            for first in range(0, len(names), _PARTITIONS):
                last = min(first + _PARTITIONS, len(names))
                view = jvm.org.apache.hudi.common.table.view.HoodieTableFileSystemView(files, meta, timeline)
                view.loadPartitions(paths.subList(first, last))
                for name in names[first:last]:
                    slices = view.getLatestMergedFileSlicesBeforeOrOn(name, instant).toArray()
                    yield read_slices(self._json(slices))

    def rows_of(self, instant: str) -> dict[int, int]:
        """Return the rows of each file that an active commit wrote; none if the commit is archived or pending."""
        timeline = self._table.completed_commits()
        found = elements(timeline.findInstantsInClosedRange(instant, instant).getInstants())
        return read_rows(self._json(commit_metadata(timeline, found[0]).getWriteStats())) if found else {}

    def _json(self, value: JavaObject) -> str:
        return str(self._jvm.org.apache.hudi.common.util.JsonUtils.toString(value))

    def _completed(self, *actions: str) -> JavaObject:
        wanted = self._jvm.java.util.HashSet(list(actions))
        return self._table.meta.getActiveTimeline().getTimelineOfActions(wanted).filterCompletedInstants()
