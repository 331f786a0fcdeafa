"""What the tests of erasures ask for, and how they look for keys without the driver's own search."""

import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
from tests.spark_jobs.services.test_services import succeeded

from hudi_jobs.contract import (
    JobRequest,
    OperationKind,
    OperationPhase,
    OperationReport,
    Outcome,
    Service,
    TableOperation,
    TaskResult,
)
from hudi_jobs.contract.operations.erase import EraseReport, EraseTask
from hudi_jobs.frames import local_frame

_GZIP = b"\x1f\x8b\x08"

INDEXES = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}


def customers(first: int, last: int, value: object = 0) -> str:
    """Rows of customers, as a file."""
    return "id,v\n" + "".join(f"customer-{number:05},{value}\n" for number in range(first, last))


def customer(number: int) -> str:
    return f"customer-{number:05}"


def put(lake: Any, number: int, text: str, *, name: str = "", **changes: Any) -> None:
    lake.put(name or f"{number}.csv", text, at=number)
    succeeded(lake.ingest(**changes))


def upsert(lake: Any, number: int, *, extra: tuple[str, ...] = ()) -> None:
    """Write thirty customers once more, as a commit that costs less than a whole run."""
    names = [*(customer(each) for each in range(30)), *extra]
    options = lake.request().tasks[0].hudi_options | {"hoodie.datasource.write.operation": "upsert"}
    frame = local_frame(lake.spark, [(name, str(number)) for name in names], "id STRING, v STRING")
    frame.coalesce(1).write.format("hudi").options(**options).mode("append").save(lake.base_path)


def quarantined(folder: Path, *keys: str, table: str = "flights") -> Path:
    """Bad records of these keys, as a run of the driver has left them."""
    file = folder / f"run-1/{table}/no-partition/part-00000-c000.json"
    file.parent.mkdir(parents=True)
    records = ({"reason": "no partition", "record": json.dumps({"id": key, "v": "1"})} for key in keys)
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return file


def request(
    lake: Any,
    *,
    ids: tuple[object, ...] = (),
    uid: str = "uid-of-erase",
    dry_run: bool = False,
    run: str | None = None,
    task: dict[str, Any] | None = None,
    **erase: Any,
) -> JobRequest:
    """The request of a run that erases the customers of these ids, or what the fields of the task say.

    `task` is what its request says otherwise.
    """
    keys = {"keys": tuple({"id": str(each)} for each in ids)} if ids else {}
    operation = TableOperation(
        kind=OperationKind.ERASE,
        resource="team/forget",
        uid=uid,
        dry_run=dry_run,
        erase=EraseTask.model_validate({**keys, **erase}),
    )
    asked: JobRequest = lake.service_request(Service.OPERATION, run=run)
    told = asked.tasks[0].copy_with(**{"operation": operation, **(task or {})})
    return asked.copy_with(tasks=(told,))


def erase(lake: Any, **changes: Any) -> TaskResult:
    result: TaskResult = lake.drive(request(lake, **changes))
    return result


def erased(result: TaskResult) -> tuple[OperationReport, EraseReport]:
    """The reports of an erasure that succeeded."""
    assert result.outcome is Outcome.SUCCEEDED, result
    report = result.operation
    assert report is not None
    assert (report.phase, report.verified) == (OperationPhase.DONE, True)
    assert report.erased is not None
    assert report.erased.left_in == ()
    assert report.erased.keys_in_bytes is not None
    assert ("too short" in result.message) is (report.erased.keys_in_bytes < (report.erased.keys or 0))
    assert ("holds a key" in result.message) is ("too short" not in result.message)
    return report, report.erased


def holding(folder: Path, key: str, *, but: str = "") -> list[str]:
    """Files that hold a text, as it is or in what is compressed in them, by other programs than the driver's.

    `but` is what follows the text where it is only the beginning of a longer one.
    """
    text = re.compile(re.escape(key.encode()) + (b"(?!%b)" % re.escape(but.encode()) if but else b""))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if any(map(text.search, _parts(path))))


def _parts(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    place = content.find(_GZIP)
    while place >= 0:
        with suppress(zlib.error):
            yield zlib.decompressobj(wbits=31).decompress(content[place:])
        place = content.find(_GZIP, place + 1)
    if content.startswith(b"PAR1"):
        yield repr(pq.read_table(path, partitioning=None).to_pydict()).encode()
    if content.startswith(b"Obj\x01"):
        yield repr(list(fastavro.reader(io.BytesIO(content)))).encode()
