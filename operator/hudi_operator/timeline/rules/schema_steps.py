"""Which commits changed the columns of a table, by the schemas in the commits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract.table.column_types import StoredColumn, parts_of, stored_columns
from hudi_jobs.contract.vocabulary import RUN_KEY
from hudi_operator.timeline.content.commits import CommitMetadata
from hudi_operator.timeline.model import CorruptContent, Instant

SCHEMA_KEY = "schema"
"""The key of the Avro schema in a commit's extra metadata."""


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """A change of a column (nested names have dots); a type is None where there is no such column.

    A comment is shown only if the type stays the same.
    """

    path: str
    before: str | None
    after: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """A commit that changed columns, and the run that made it; `run` is empty for a commit of another tool.

    `changes` is None for a commit with a damaged or unreadable schema.
    """

    instant: str
    run: str
    changes: tuple[ColumnStep, ...] | None


@dataclass(frozen=True, slots=True)
class SchemaHistory:
    """The columns of the oldest and the newest commit that were read, and the steps between, oldest first."""

    first: str | None = None
    oldest: tuple[StoredColumn, ...] = ()
    newest: tuple[StoredColumn, ...] = ()
    steps: tuple[SchemaStep, ...] = ()


def schema_history(commits: Iterable[tuple[Instant, CommitMetadata | CorruptContent]]) -> SchemaHistory:
    """Return the history of columns by commits, given oldest first; commits without a schema are skipped."""
    first: str | None = None
    oldest: tuple[StoredColumn, ...] = ()
    newest: tuple[StoredColumn, ...] = ()
    text: str | None = None
    steps: list[SchemaStep] = []
    for instant, found in commits:
        if isinstance(found, CorruptContent):
            steps.append(SchemaStep(instant.time, "", None))
            continue
        schema = found.extra_metadata.get(SCHEMA_KEY)
        if not schema or schema == text:
            continue
        columns, run = stored_columns(schema), found.extra_metadata.get(RUN_KEY, "")
        if columns is None:
            steps.append(SchemaStep(instant.time, run, None))
        elif first is None:
            first, oldest, newest, text = instant.time, columns, columns, schema
        else:
            changes = tuple(_changes(newest, columns))
            steps += [SchemaStep(instant.time, run, changes)] if changes else []
            newest, text = columns, schema
    return SchemaHistory(first, oldest, newest, tuple(steps))


def _changes(before: tuple[StoredColumn, ...], after: tuple[StoredColumn, ...]) -> Iterator[ColumnStep]:
    old, new = parts_of(before), parts_of(after)
    for path in dict.fromkeys((*new, *old)):
        if old.get(path) != new.get(path):
            yield ColumnStep(path, old.get(path), new.get(path))
    comments = {one.name: one.comment for one in before}
    for one in after:
        if one.name in comments and comments[one.name] != one.comment:
            kind = str(one.kind)
            yield ColumnStep(one.name, kind, kind, one.comment or "")
