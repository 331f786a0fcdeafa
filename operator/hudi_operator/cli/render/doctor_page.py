"""The report of the doctor as one HTML page without scripts and without anything from elsewhere."""

from collections.abc import Iterator
from datetime import datetime
from html import escape

from hudi_jobs.contract.wording import escaped
from hudi_operator.api.status.findings import WORST_FIRST
from hudi_operator.cli.render.doctor_report import cluster_sentence, evidence_line, left_out_sentence, summary
from hudi_operator.diagnosis.report import LakeReport, Said, TableReport

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d0d7de}
td.path,p.message{overflow-wrap:anywhere}section{margin:1.5rem 0;padding:.2rem 1rem;border:1px solid #d0d7de}
article{border-left:4px solid #8c959f;padding:0 1rem;margin:1rem 0}.Critical{border-color:#cf222e}
.Warning{border-color:#bf8700}.muted{color:#59636e}h2,h3{overflow-wrap:anywhere}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_page(report: LakeReport) -> str:
    """Return the whole page; every text from outside is escaped."""
    return "\n".join(_page(report)) + "\n"


def _text(text: str) -> str:
    return escape(escaped(text), quote=True)


def _page(report: LakeReport) -> Iterator[str]:
    at = report.at.strftime("%Y-%m-%d %H:%M UTC")
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY, quote=True)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Hudi tables at {at}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>Hudi tables at {at}</h1><p>{_text(summary(report))}</p>"
    yield "<table><thead><tr><th>Table<th>Version<th>Score"
    yield "".join(f"<th>{one}" for one in WORST_FIRST) + "</tr></thead><tbody>"
    yield from (_row(number, one) for number, one in enumerate(report.tables))
    yield "</tbody></table>"
    for number, one in enumerate(report.tables):
        if one.has_details:
            yield from _section(number, one, report.at)
    yield from (f"<p>{_text(problem)}</p>" for problem in report.problems)
    yield f'<p class="muted">{_text(cluster_sentence())}</p></body></html>'


def _row(number: int, one: TableReport) -> str:
    score = "unreadable" if one.score is None else str(one.score.value)
    counts = "".join(f"<td>{one.number(severity)}" for severity in WORST_FIRST)
    path = f'<a href="#t{number}">{_text(one.path)}</a>' if one.has_details else _text(one.path)
    return f'<tr><td class="path">{path}<td>{one.version or ""}<td>{score}{counts}</tr>'


def _section(number: int, one: TableReport, now: datetime) -> Iterator[str]:
    yield f'<section id="t{number}"><h2>{_text(one.path)}</h2>'
    if one.score is None:
        yield f'<p class="message">{_text(one.problem)}</p>'
    else:
        yield f"<p>{_text(f'{one.kind}, table version {one.version}, score {one.score.line}')}</p>"
    yield from (_article(said, now) for said in one.findings)
    if one.left_out:
        yield f'<p class="muted">{_text(left_out_sentence(one))}</p>'
    yield "</section>"


def _article(said: Said, now: datetime) -> str:
    check, line = said.check, evidence_line(said, now)
    return (
        f'<article class="{check.severity}"><h3>{check.code} <span class="muted">{check.severity}</span></h3>'
        f'<p class="message">{_text(said.evidence.message)}</p>'
        + (f'<p class="muted">{_text(line)}</p>' if line else "")
        + f"<p>Blocks: {_text(check.blocks)}<br>What to do: {_text(check.remedy)}</p></article>"
    )
