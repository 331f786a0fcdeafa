"""Layout 2's history: a log-structured merge tree of Parquet files under manifests (`LSMTimeline`)."""

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_jobs.contract import Location
from hudi_jobs.contract.wording import shortened
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.archive.parts import (
    INSTANTS_LIMIT,
    ArchiveDamaged,
    Found,
    archived_instant,
    beyond_the_limit,
    place_in,
    read_part,
)
from hudi_operator.timeline.files.reading import as_unreadable
from hudi_operator.timeline.model import Instant, Problem

_VERSION_FILE = "_version_"
_MANIFEST_PREFIX = "manifest_"
_MANIFESTS_TRIED = 10
_FOOTER_PART = 2**20
_COLUMNS_LIMIT = 256 * 2**20
"""The most bytes that the columns of a file may take."""

# The same files hold the instants' content, which is many times larger and never fetched.
_COLUMNS = ["instantTime", "completionTime", "action"]


def read_lsm_history(filesystem: FileSystem, folder: Location, names: Sequence[str]) -> Found:
    """Read the instants of the newest usable snapshot.

    Hudi deletes and recreates `_version_`, so it may be missing or stale. Hudi writes a manifest once and completely
    before `_version_` names it, and before its instants leave the active timeline: the highest readable manifest is the
    truth. Leftovers like `manifest_7.<uuid>` are no manifests.
    """
    problems: list[Problem] = []
    versions = sorted((version for name in names if (version := _manifest_version(name)) is not None), reverse=True)
    files: list[str] = []
    for version in versions[:_MANIFESTS_TRIED]:
        try:
            files = _manifest_files(read_part(filesystem, folder, f"{_MANIFEST_PREFIX}{version}"))
            break
        except ArchiveDamaged as error:
            problems.append(Problem(f"{_MANIFEST_PREFIX}{version}", f"The manifest cannot be read: {error}."))
    else:
        if any(name.endswith(".parquet") for name in names):
            problems.append(Problem(_VERSION_FILE, "The history has files but no readable manifest."))
    problems.extend(_version_problems(filesystem, folder, names, versions))
    instants: list[Instant] = []
    for name in files:
        if len(instants) > INSTANTS_LIMIT:
            problems.append(beyond_the_limit(name))
            break
        try:
            instants.extend(_instants(filesystem, folder, name))
        except ArchiveDamaged as error:
            problems.append(Problem(name, f"The archived instants in this file are missing here: {error}."))
    return instants, problems


def _manifest_version(name: str) -> int | None:
    digits = name.removeprefix(_MANIFEST_PREFIX)
    return int(digits) if digits != name and digits.isdigit() and digits.isascii() else None


def _manifest_files(content: bytes) -> list[str]:
    try:
        return [str(entry["fileName"]) for entry in json.loads(content)["files"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArchiveDamaged(f"{type(error).__name__} {error}") from error


def _version_problems(
    filesystem: FileSystem, folder: Location, names: Sequence[str], versions: Sequence[int]
) -> Iterator[Problem]:
    if not versions or _VERSION_FILE not in names:
        return
    try:
        text = read_part(filesystem, folder, _VERSION_FILE).decode("ascii", "replace").strip()
    except ArchiveDamaged:
        return
    if text != str(versions[0]):
        reason = f"It names snapshot {shortened(text, 40)}, but manifest_{versions[0]} exists and was read instead."
        yield Problem(_VERSION_FILE, reason)


def _check_size(footer: pq.FileMetaData) -> None:
    """Raise `ArchiveDamaged` if the footer announces more rows or bytes than the limits allow."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    size = sum(one.total_uncompressed_size for one in columns if one.path_in_schema in _COLUMNS)
    if footer.num_rows > INSTANTS_LIMIT or size > _COLUMNS_LIMIT:
        raise ArchiveDamaged(f"it holds {footer.num_rows} instants in {size} bytes, which is more than is read")


def _instants(filesystem: FileSystem, folder: Location, name: str) -> Iterator[Instant]:
    try:
        limits = {"thrift_string_size_limit": _FOOTER_PART, "thrift_container_size_limit": _FOOTER_PART}
        with filesystem.open_file(place_in(folder, name)) as source, pq.ParquetFile(source, **limits) as parquet:
            _check_size(parquet.metadata)
            rows = parquet.read(columns=_COLUMNS).to_pylist()
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            raise ArchiveDamaged("the file does not exist") from error
        raise as_unreadable(error) from error
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise ArchiveDamaged(str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    for row in rows:
        yield archived_instant(row["instantTime"], row["action"], "COMPLETED", row["completionTime"])
