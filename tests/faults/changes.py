"""What each kind of operation does to a small table: begun, half done, and finished, by whichever run comes so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.faults.driver import CLEANED, folder_of
from tests.timeline.hostile import avro_file, number, record

from hudi_jobs.commit_metadata import commit_metadata
from hudi_jobs.contract import OperationKind, RunnableService, TableOperation, TableTask
from toolkit.small_table import SmallTable

Document = dict[str, Any]

_UNDONE = record("Restore", instantsToRollback={"type": "array", "items": "string"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run of an operation works with."""

    table: SmallTable
    run: str
    task: TableTask
    operation: TableOperation


class Change:
    """How a kind changes a table: by default not at all, as where only what nobody of the timeline sees is mended.

    `plan` and `begin` return what a record keeps; `half` and `finish` may be done again.
    """

    def plan(self, asked: Asked) -> Document:  # noqa: ARG002 - what others need
        """Look at the table, and write nothing."""
        return {}

    def begin(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        """Begin, which must happen once."""
        return {}

    def half(self, asked: Asked, known: Document) -> None:
        """Do what a killed run leaves half done."""

    def finish(self, asked: Asked, known: Document) -> None:
        """Do the rest."""

    def report(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        """Return the fields of the report that the kind has."""
        return {}


class GoBack(Change):
    """A restore, and a rollback as one to the commit before."""

    def plan(self, asked: Asked) -> Document:
        commits, instant = asked.table.commits(), asked.operation.instant or ""
        if asked.operation.kind is OperationKind.ROLLBACK:
            instant = commits[commits.index(instant) - 1]
        return {"target": instant, "removed": [time for time in commits if time > instant]}

    def begin(self, asked: Asked, known: Document) -> Document:
        return {"restore": asked.table.begin_restore(_undone(known["removed"]))}

    def half(self, asked: Asked, known: Document) -> None:
        for one in known["removed"]:
            asked.table.remove(one)

    def finish(self, asked: Asked, known: Document) -> None:
        asked.table.complete_restore(known["restore"], _undone(known["removed"]))

    def report(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        removed = known["removed"]
        told = {"target": known["target"], "removed_count": len(removed), "removed": tuple(removed)}
        return {**told, "restore": known["restore"]} if "restore" in known else told


class Serve(Change):
    """A service that is run once: a killed run leaves its plan, which any later run of the service finishes."""

    def begin(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        action = _action(asked)
        left = asked.table.pending(action)
        return {"instant": left[0] if left else asked.table.begin_action(f"{action}.requested", f"{action}.inflight")}

    def finish(self, asked: Asked, known: Document) -> None:
        notes = {"operationType": "CLUSTER", "extraMetadata": commit_metadata(asked.run, asked.task, asked.operation)}
        content = CLEANED if _action(asked) == "clean" else json.dumps(notes).encode()
        asked.table.complete_action(known["instant"], _action(asked), content)

    def report(self, asked: Asked, known: Document) -> Document:
        found = [known["instant"]] if "instant" in known else asked.table.pending(_action(asked))
        return {"instant": found[0] if found else None, "count": 1}


def _action(asked: Asked) -> str:
    assert asked.operation.service is not None, "the request says which service"
    return {RunnableService.CLEANING: "clean", RunnableService.CLUSTERING: "replacecommit"}[
        asked.operation.service.service
    ]


class Mend(Change):
    """A repair: what is about an instant removes it."""

    def half(self, asked: Asked, known: Document) -> None:  # noqa: ARG002
        if asked.operation.instant is not None:
            asked.table.remove(asked.operation.instant)

    def report(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        return {} if asked.operation.instant is None else {"instant": asked.operation.instant}


class Move(Change):
    """A change of the version: of a timeline that is half moved every version sees a part."""

    def plan(self, asked: Asked) -> Document:
        commits = asked.table.commits()
        return {"before": asked.table.version, "after": asked.operation.table_version, "target": commits[-1]}

    def half(self, asked: Asked, known: Document) -> None:
        asked.table.move(known["after"], most=2)

    def finish(self, asked: Asked, known: Document) -> None:
        asked.table.move(known["after"])
        asked.table.set_version(known["after"])

    def report(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        return {"target": known["target"], "version_before": known["before"], "version_after": known["after"]}


class Erase(Change):
    """An erasure: one commit, and a report where the request says."""

    def begin(self, asked: Asked, known: Document) -> Document:  # noqa: ARG002
        return {"commit": asked.table.begin()}

    def finish(self, asked: Asked, known: Document) -> None:
        asked.table.complete(known["commit"], commit_metadata(asked.run, asked.task, asked.operation))
        erase = asked.operation.erase
        if erase is not None and erase.report_file is not None:
            file = folder_of(erase.report_file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"operation": asked.operation.resource, "rows": len(erase.keys)}))

    def report(self, asked: Asked, known: Document) -> Document:
        erase = asked.operation.erase
        assert erase is not None, "the request says what is erased"
        found: Document = {"keys": len(erase.keys), "rows": len(erase.keys), "holding_files": 2}
        if "commit" in known:
            proof = {"files_searched": 9, "keys_in_bytes": 0, "digest": "4f060b2d", "files_removed": 2}
            found |= {"commit": known["commit"], "report_file": erase.report_file, **proof}
        return {"erased": found, "rows_before": 10, "rows_after": 10 - len(erase.keys) if "commit" in known else None}


CHANGES: Mapping[OperationKind, Change] = {
    OperationKind.RESTORE: GoBack(),
    OperationKind.ROLLBACK: GoBack(),
    OperationKind.RUN_SERVICE: Serve(),
    OperationKind.REPAIR: Mend(),
    OperationKind.UPGRADE: Move(),
    OperationKind.DOWNGRADE: Move(),
    OperationKind.ERASE: Erase(),
}


def _undone(times: list[str]) -> bytes:
    """What a restore says that it undoes, as an Avro file."""
    entries = b"".join(number(len(time)) + time.encode() for time in times)
    return avro_file(_UNDONE, number(len(times)) + entries + number(0) if times else number(0))
