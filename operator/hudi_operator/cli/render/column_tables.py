"""`schema`: the declared columns of a table, how they differ from the table, its input and its catalog, and history."""

from collections.abc import Iterator
from typing import Any

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.column_types import StoredColumn
from hudi_jobs.contract.table.columns import SchemaChange, schema_changes
from hudi_jobs.contract.wording import escaped
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.spec.schema import SchemaColumn
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.cli.render.explanation import Shown, head
from hudi_operator.cli.render.text import Cell, Row, Tone, heading, table
from hudi_operator.cli.render.view import TableView
from hudi_operator.jobs.requests.request import definition_of
from hudi_operator.timeline.rules.schema_steps import ColumnStep, SchemaHistory

_OF_TABLE = (FindingCode.SPEC_DRIFT, FindingCode.SETTING_NOT_APPLIED)
_OF_CATALOG = (FindingCode.CATALOG_BEHIND, FindingCode.CATALOG_ENTRY_TAKEN)
_OF_INPUT = frozenset({FailureReason.SCHEMA_INCOMPATIBLE, FailureReason.COLUMN_MISSING, FailureReason.BAD_RECORDS})
_NEXT_RUN = "the next run that writes rows makes the change"


def schema_text(view: TableView, shown: Shown, history: SchemaHistory | None) -> str:
    """Return the page about the columns of a table; with a history, also of the table's own columns."""
    parts = {
        "Columns": _columns(view, shown, history),
        "Differences from the table": [escaped(one) for one in differences(view)["table"]],
        "The input of the last run": [escaped(one) for one in differences(view)["input"]],
        "The catalog": [escaped(one) for one in differences(view)["catalog"]],
    }
    if history is not None:
        parts["History"] = _history(history, shown)
    lines = [*head(view, shown)]
    for title, found in parts.items():
        if found:
            lines += ["", heading(title, colour=shown.colour), *(f"  {line}" for line in found)]
    return "\n".join(lines)


def schema_document(view: TableView, history: SchemaHistory | None) -> dict[str, Any]:
    """Return the same for programs."""
    document: dict[str, Any] = {
        "metadata": {"name": view.metadata.name, "namespace": view.metadata.namespace},
        "declared": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in declared_columns(view)],
        "differences": differences(view),
    }
    if history is None:
        return document
    steps = [
        {
            "instant": one.instant,
            "run": one.run,
            "changes": None if one.changes is None else [_change_document(each) for each in one.changes],
        }
        for one in history.steps
    ]
    table_columns = [_column_document(one) for one in history.newest]
    return {**document, "table": table_columns, "history": {"first": history.first, "steps": steps}}


def _column_document(column: StoredColumn) -> dict[str, Any]:
    found = {"name": column.name, "type": str(column.kind)}
    return found if column.comment is None else {**found, "comment": column.comment}


def _change_document(change: ColumnStep) -> dict[str, Any]:
    found = {"column": change.path, "before": change.before, "after": change.after}
    return found if change.comment is None else {**found, "comment": change.comment}


def declared_columns(view: TableView) -> tuple[SchemaColumn, ...]:
    """Return the declared columns; none if the spec cannot be read."""
    parsed = parse_table(dict(view.document))
    return parsed.spec.schema_policy.columns if isinstance(parsed, HudiTable) else ()


def differences(view: TableView) -> dict[str, list[str]]:
    """Return what the status says of the table, the input of the last run, and the catalog."""
    ingestion = view.status.services.ingestion
    last = ingestion.last_run
    return {
        "table": [one.message for one in view.status.findings if one.code in _OF_TABLE and "schema." in one.message],
        "input": [last.message] if last is not None and last.reason in _OF_INPUT and last.message else [],
        "catalog": [one.message for one in view.status.findings if one.code in _OF_CATALOG],
    }


def _columns(view: TableView, shown: Shown, history: SchemaHistory | None) -> list[str]:
    columns = declared_columns(view)
    if history is not None:
        return _beside_table(view, columns, shown, history)
    if not columns:
        return [
            "The spec declares no columns, so the input decides; `--history` reads those of the table from the store."
        ]
    rows: list[Row] = [[one.name, one.type, "yes" if one.nullable else "no", one.comment or ""] for one in columns]
    return table(["NAME", "TYPE", "NULLABLE", "COMMENT"], rows, colour=shown.colour).splitlines()


def _beside_table(
    view: TableView, columns: tuple[SchemaColumn, ...], shown: Shown, history: SchemaHistory
) -> list[str]:
    """Return the declared columns beside those of the table, with each difference below its column."""
    declared, stored = {one.name: one for one in columns}, {one.name: one for one in history.newest}
    changes = _changes(view, history)
    rows: list[Row] = []
    for name in dict.fromkeys((*declared, *stored)):
        own, found = declared.get(name), stored.get(name)
        comment = (own.comment if own is not None else found.comment if found is not None else None) or ""
        rows.append([name, own.type if own is not None else "", str(found.kind) if found is not None else "", comment])
        rows += [_note(one) for one in changes if one.path.partition(".")[0] == name]
    return table(["NAME", "DECLARED", "TABLE", "COMMENT"], rows, colour=shown.colour).splitlines() if rows else []


def _note(change: SchemaChange) -> Row:
    note = Cell(_NEXT_RUN) if change.problem is None else Cell(change.problem, Tone.WARN)
    return [f"  {change.path}", change.declared or "(none)", change.stored or "(none)", note]


def _changes(view: TableView, history: SchemaHistory) -> tuple[SchemaChange, ...]:
    parsed = parse_table(dict(view.document))
    definition = definition_of(parsed) if isinstance(parsed, HudiTable) else None
    if definition is None or definition.declared is None or not history.newest:
        return ()
    return schema_changes(definition.declared, history.newest, definition.uses_of_columns)


def _history(history: SchemaHistory, shown: Shown) -> list[str]:
    if history.first is None:
        return ["No commit that was read has a schema."]
    rows: list[Row] = [[history.first, f"{len(history.oldest):,} columns", "the oldest commit that was read", ""]]
    for step in history.steps:
        if step.changes is None:
            rows.append([step.instant, "", Cell("the schema of this commit cannot be read", Tone.WARN), step.run])
        rows += [[step.instant, one.path, "".join(_told(one)), step.run] for one in step.changes or ()]
    return table(["COMMIT", "COLUMN", "CHANGE", "RUN"], rows, colour=shown.colour).splitlines()


def _told(change: ColumnStep) -> Iterator[str]:
    if change.comment is not None:
        yield f"comment: {change.comment or '(none)'}"
    elif change.before is None:
        yield f"added as {change.after}"
    elif change.after is None:
        yield f"removed, was {change.before}"
    else:
        yield f"{change.before} became {change.after}"
