"""Whether an Avro file is whole, by its header and its last bytes."""

import io
import json

import fastavro
import pytest

from hudi_jobs.ingestion.sources.files.avro_files import BrokenAvro, read_whole


def avro(rows: int, *, fields: int = 1) -> bytes:
    columns = [{"name": f"column_{number}", "type": "int"} for number in range(fields)]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": columns})
    buffer = io.BytesIO()
    values = [{column["name"]: number for column in columns} for number in range(rows)]
    fastavro.writer(buffer, schema, values, sync_interval=100)
    return buffer.getvalue()


def look(content: bytes) -> str:
    return read_whole(lambda offset, count: content[offset : offset + count], len(content)).schema


@pytest.mark.parametrize(("rows", "fields"), [(0, 1), (1, 1), (1000, 1), (10, 5000)])
def test_a_whole_file_shows_its_schema(rows: int, fields: int) -> None:
    assert len(json.loads(look(avro(rows, fields=fields)))["fields"]) == fields


def test_a_file_that_is_cut_anywhere_is_refused_unless_it_ends_with_a_block() -> None:
    content = avro(50)
    marker = content[-16:]
    for length in range(len(content)):
        cut = content[:length]
        if cut.endswith(marker):
            continue
        with pytest.raises(BrokenAvro):
            look(cut)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"hello, this is text", b"Obj\x01" + b"\x01" * 40])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenAvro):
        look(content)
