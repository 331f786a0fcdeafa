"""Tables as other tools make them: the rows they hold, the state they are left in, and what the tool does later."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.matrix.cases import MatrixCase

from toolkit.writers import COMPACTED_ELSEWHERE, Writer

COLUMNS = "id string, part string, word string, ts long, at string"
_STYLES: dict[str, dict[str, str]] = {
    "dataframe": {},
    "sql": {"hoodie.datasource.write.hive_style_partitioning": "true"},
    "hive": {"hoodie.datasource.write.hive_style_partitioning": "true"},
    "encoded": {"hoodie.datasource.write.partitionpath.urlencode": "true"},
    "timestamp": {
        "hoodie.datasource.write.partitionpath.field": "at",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd HH:mm:ss",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.timezone": "UTC",
    },
    "unpartitioned": {
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    },
    "no-meta-fields": {"hoodie.populate.meta.fields": "false"},
}


@dataclass
class Foreign:
    """One table and its writer. `rows` is what it has to hold: the word of each key."""

    case: MatrixCase
    writer: Writer
    path: Path
    rows: dict[str, str] = field(default_factory=dict)
    _clock: int = 10
    _gate: str | None = None
    _unfinished: dict[str, str] = field(default_factory=dict)

    @property
    def partition_by(self) -> list[str]:
        return {"timestamp": ["at"], "unpartitioned": []}.get(self.case.style, ["part"])

    @property
    def name(self) -> str:
        """The table's name. One of SQL stands in the catalog of its writer, which other tables are in."""
        return self.path.parents[1].name.replace("-", "_") if self.case.style == "sql" else "flights"

    def properties(self) -> dict[str, str]:
        """Return what is in hoodie.properties."""
        lines = (self.path / ".hoodie" / "hoodie.properties").read_text().splitlines()
        return {key: value for key, _, value in (line.partition("=") for line in lines if not line.startswith("#"))}

    @property
    def options(self) -> dict[str, str]:
        """What the tool tells Hudi with each write."""
        case = self.case
        return {
            **COMPACTED_ELSEWHERE,
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ" if case.kind == "MergeOnRead" else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.metadata.enable": str(case.metadata_table).lower(),
            **({"hoodie.table.timeline.timezone": "UTC"} if case.zone == "UTC" else {}),
            **_STYLES[case.style],
        }

    def make(self) -> None:
        """Make the table by commits whose updates differ from what they update, and by a row that comes too late."""
        self.write(*(f"k{number}" for number in range(6)))
        self.write("k0", "k1", "k2")
        self.write("k0")
        self.write("k3", late=True)
        getattr(self, f"_leave_{self.case.state.replace('-', '_')}")()

    def write(self, *keys: str, late: bool = False) -> None:
        """Upsert rows with new words; those that are late are older than what is there."""
        self._clock += 10
        rows = self._rows(*keys, ts=1 if late else self._clock)
        if self.case.style == "sql":
            self._merge(rows)
        else:
            self.writer.upsert(self.path, rows, columns=COLUMNS, options=self.options)
        if not late:
            self.rows |= {row[0]: row[2] for row in rows}

    def late_rows(self) -> list[tuple[Any, ...]]:
        """What the writing release reads for the key of the late row: releases differ in who wins."""
        return [row for row in self.read() if row[0] == "k3"]

    def read(self) -> list[tuple[Any, ...]]:
        """Read as the tool reads."""
        return self.writer.rows(self.path, "id", "word", options={"hoodie.metadata.enable": "true"})

    def ingested(self, *keys: str) -> str:
        """Return a file of newer rows, in CSV, and expect them."""
        self._clock += 10
        rows = self._rows(*keys, ts=self._clock)
        self.rows |= {row[0]: row[2] for row in rows}
        return "id,part,word,ts,at\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)

    def finish(self) -> None:
        """Let the write that lives commit."""
        assert self._gate is not None
        self.writer.finish(self._gate)
        self.rows |= self._unfinished

    def work_again(self) -> None:
        """Upsert, clean, and go back to a savepoint, as the tool's jobs and its operators do."""
        self.write("k2", "k7")
        self.writer.service(self.path, "clean", options=self.options)
        kept = dict(self.rows)
        latest = self.writer.completed(self.path, "commit", "deltacommit")[-1]
        self.writer.service(self.path, "savepoint", latest, options=self.options)
        self.write("k2", "k8")
        self.writer.service(self.path, "restore", latest, options=self.options)
        self.rows = kept

    def _rows(self, *keys: str, ts: int) -> list[tuple[Any, ...]]:
        parts = ("x y/1", "x y/2") if self.case.style == "encoded" else ("a", "b")
        days = ("2026-03-01 12:00:00", "2026-03-02 12:00:00")
        halves = [int(key[1:]) % 2 for key in keys]
        return [
            (key, parts[half], f"{key} of {self._clock}", ts, days[half])
            for key, half in zip(keys, halves, strict=True)
        ]

    def _merge(self, rows: list[tuple[Any, ...]]) -> None:
        if not (self.path / ".hoodie").exists():
            self._create()
        names = ("id", "part", "word", "ts", "at")
        union = " UNION ALL ".join(
            "SELECT " + ", ".join(f"{_literal(value)} AS {name}" for name, value in zip(names, row, strict=True))
            for row in rows
        )
        self.writer.sql(
            f"MERGE INTO {self.name} AS t USING ({union}) AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def _create(self) -> None:
        kind = "mor" if self.case.kind == "MergeOnRead" else "cow"
        properties = {
            "type": kind,
            "primaryKey": "id",
            "preCombineField": "ts",
            **{key: value for key, value in self.options.items() if "datasource.write" not in key},
        }
        properties.pop("hoodie.table.name")
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.writer.sql(
            f"CREATE TABLE {self.name} (id STRING, word STRING, ts BIGINT, at STRING, part STRING) USING hudi "
            f"TBLPROPERTIES ({listed}) PARTITIONED BY (part) LOCATION '{self.path}'"
        )

    def _leave_nothing(self) -> None:
        pass

    def _leave_compaction(self) -> None:
        options = {**self.options, "hoodie.compact.inline.max.delta.commits": "1"}
        assert self.writer.schedule(self.path, "compaction", options)
        self.write("k1", "k4")

    def _leave_clustering(self) -> None:
        assert self.writer.schedule(self.path, "clustering", self.options)
        # Updates of what is about to be rewritten would be refused.
        self.writer.insert(self.path, self._rows("k9", ts=self._clock), columns=COLUMNS, options=self.options | _APART)
        self.rows |= {"k9": f"k9 of {self._clock}"}

    def _leave_dead_write(self) -> None:
        self.writer.fail(self._begin())

    def _leave_live_write(self) -> None:
        self._gate = self._begin()

    def _leave_savepoint(self) -> None:
        latest = self.writer.completed(self.path, "commit", "deltacommit")[-1]
        self.writer.service(self.path, "savepoint", latest, options=self.options)
        self.write("k1", "k4")

    def _begin(self) -> str:
        self._clock += 10
        rows = self._rows("k5", "k6", ts=self._clock)
        self._unfinished = {row[0]: row[2] for row in rows}
        return self.writer.begin(self.path, rows, columns=COLUMNS, options=self.options)


_APART = {"hoodie.parquet.small.file.limit": "0"}


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"CAST({value} AS BIGINT)"
