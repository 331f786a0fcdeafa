"""The report of the doctor for a terminal, as a JSON document, and as Markdown."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hudi_jobs.contract.wording import counted, escaped
from hudi_operator.api.status.findings import WORST_FIRST, FindingCode, Severity
from hudi_operator.cli.render.text import SEVERITY_TONES, Cell, Tone, age, heading, table, toned
from hudi_operator.diagnosis.check_registry import NEED_THE_CLUSTER
from hudi_operator.diagnosis.report import LakeReport, Said, TableReport

_HEADER = ("TABLE", "VERSION", "SCORE", "CRITICAL", "WARNING", "INFO")
_GOOD, _FAIR = 90, 60


def cluster_sentence() -> str:
    """Return the sentence on the codes that a table alone does not show."""
    codes = ", ".join(NEED_THE_CLUSTER)
    return f"{len(NEED_THE_CLUSTER)} of {len(FindingCode)} codes need the cluster; see `kubectl hudi status`: {codes}."


def summary(report: LakeReport) -> str:
    """Return the number of tables and of those with problems in a sentence."""
    bad = sum(1 for one in report.tables if one.is_at_least(Severity.WARNING))
    return f"{counted(len(report.tables), 'table')}, {bad} with a Critical finding or a Warning."


def evidence_line(said: Said, now: datetime) -> str:
    """Return instant, count and age of a finding, as far as it has them."""
    evidence = said.evidence
    parts = (
        f"instant {evidence.instant}" if evidence.instant else "",
        f"count {evidence.count:,}" if evidence.count is not None else "",
        f"for {age(evidence.since, now)}" if evidence.since is not None and evidence.since <= now else "",
    )
    return ", ".join(filter(None, parts))


def left_out_sentence(one: TableReport) -> str:
    """Return the sentence on what was not read of a table, so that some checks could not speak."""
    return f"Not read, to stay within the requests of a table: {', '.join(one.left_out)}."


def as_text(report: LakeReport, *, colour: bool) -> str:
    """Return the report for a terminal."""
    return "\n".join(_lines(report, colour=colour))


def _lines(report: LakeReport, *, colour: bool) -> Iterator[str]:
    yield table(_HEADER, [_row(one) for one in report.tables], colour=colour)
    for one in report.tables:
        if one.has_details:
            yield ""
            yield from _details(one, report.at, colour=colour)
    yield ""
    yield summary(report)
    yield cluster_sentence()


def _row(one: TableReport) -> list[Cell | str]:
    if one.score is None:
        return [one.path, "", Cell("unreadable", Tone.BAD), "", "", ""]
    value = one.score.value
    tone = Tone.GOOD if value >= _GOOD else Tone.WARN if value >= _FAIR else Tone.BAD
    return [one.path, str(one.version or ""), Cell(str(value), tone), *(str(one.number(each)) for each in WORST_FIRST)]


def _details(one: TableReport, now: datetime, *, colour: bool) -> Iterator[str]:
    score = f": {one.score.line}" if one.score is not None else ""
    yield heading(escaped(f"{one.path}{score}"), colour=colour)
    if one.problem:
        yield f"  {toned(one.problem, Tone.BAD, colour=colour)}"
    for said in one.findings:
        check, line = said.check, evidence_line(said, now)
        severity = toned(check.severity, SEVERITY_TONES.get(check.severity), colour=colour)
        yield f"  {severity} {check.code}{f' ({line})' if line else ''}"
        yield f"    {escaped(said.evidence.message)}"
        yield f"    Blocks: {check.blocks}"
        yield f"    Do: {check.remedy}"
    if one.left_out:
        yield f"  {left_out_sentence(one)}"


def as_document(report: LakeReport) -> dict[str, Any]:
    """Return the report as a document whose names are a contract."""
    return {
        "at": report.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tables": [_table(one, report.at) for one in report.tables],
        "problems": [escaped(one) for one in report.problems],
        "needCluster": [code.value for code in NEED_THE_CLUSTER],
    }


def _table(one: TableReport, now: datetime) -> dict[str, Any]:
    document: dict[str, Any] = {"path": one.path, "requests": one.requests}
    if one.score is None:
        return {**document, "problem": one.problem}
    return {
        **document,
        "name": one.name,
        "type": one.kind,
        "version": one.version,
        "score": one.score.value,
        "scoreParts": [{"code": part.code.value, "points": part.points} for part in one.score.parts],
        "findings": [_finding(said, now) for said in one.findings],
        "notRead": list(one.left_out),
    }


def _finding(said: Said, now: datetime) -> dict[str, Any]:
    check, evidence = said.check, said.evidence
    since = evidence.since if evidence.since is not None and evidence.since <= now else None
    return {
        "code": check.code.value,
        "severity": check.severity.value,
        "message": escaped(evidence.message),
        "instant": evidence.instant,
        "count": evidence.count,
        "since": since.strftime("%Y-%m-%dT%H:%M:%SZ") if since is not None else None,
        "ageSeconds": int((now - since).total_seconds()) if since is not None else None,
        "blocks": sorted(one.value for one in evidence.blocks),
        "effect": check.blocks,
        "remedy": check.remedy,
    }


_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~<>&-])")


def plain(text: str) -> str:
    """Return a text from outside for Markdown: nothing in it is markup."""
    return _MARKS.sub(r"\\\1", escaped(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def as_markdown(report: LakeReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_markdown(report)) + "\n"


def _markdown(report: LakeReport) -> Iterator[str]:
    yield f"# Hudi tables at {report.at.strftime('%Y-%m-%d %H:%M UTC')}"
    yield ""
    yield summary(report)
    yield ""
    yield "| Table | Version | Score | Critical | Warning | Info |"
    yield "|---|---|---|---|---|---|"
    for one in report.tables:
        cells = [cell.text if isinstance(cell, Cell) else cell for cell in _row(one)]
        yield f"| {' | '.join(map(plain, cells))} |"
    for one in report.tables:
        if one.has_details:
            yield ""
            yield f"## {plain(one.path)}"
            yield ""
            yield plain(one.problem) if one.score is None else f"Score {one.score.line}"
            yield from _markdown_findings(one, report.at)
            yield from ("", left_out_sentence(one)) if one.left_out else ()
    yield ""
    yield cluster_sentence()
    yield from (f"\n{plain(problem)}" for problem in report.problems)


def _markdown_findings(one: TableReport, now: datetime) -> Iterator[str]:
    for said in one.findings:
        line = evidence_line(said, now)
        yield ""
        yield f"### {said.check.code} ({said.check.severity})"
        yield ""
        yield plain(said.evidence.message)
        yield ""
        if line:
            yield f"- Evidence: {line}"
        yield f"- Blocks: {said.check.blocks}"
        yield f"- What to do: {said.check.remedy}"
