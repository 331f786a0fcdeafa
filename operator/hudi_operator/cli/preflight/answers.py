"""The answers of a preflight as text and as values."""

from collections.abc import Mapping, Sequence
from typing import Any

from hudi_jobs.contract.wording import counted, escaped
from hudi_operator import __version__
from hudi_operator.cli.preflight.check import Line, Verdict
from hudi_operator.cli.render.text import Tone, heading, toned

_TONES = {Verdict.OK: Tone.GOOD, Verdict.WARNING: Tone.WARN, Verdict.BLOCKED: Tone.BAD}
_WIDTH = max(map(len, Verdict))


def preflight_text(found: Mapping[str, Sequence[Line]], *, colour: bool) -> str:
    """Return the answers by family, each with its remedy."""
    lines = []
    for family, answers in found.items():
        lines.append(heading(family, colour=colour))
        for one in answers:
            verdict = toned(one.verdict, _TONES[one.verdict], colour=colour) + " " * (_WIDTH - len(one.verdict))
            lines.append(f"  {verdict}   {escaped(one.message)}")
            if one.remedy:
                lines.append(f"  {'':{_WIDTH}}   To do: {escaped(one.remedy)}")
    return "\n".join(lines)


def preflight_document(found: Mapping[str, Sequence[Line]]) -> dict[str, Any]:
    """Return the answers for programs."""
    checks = [
        {"check": family, "verdict": one.verdict.value, "message": one.message}
        | ({"remedy": one.remedy} if one.remedy else {})
        for family, answers in found.items()
        for one in answers
    ]
    return {"version": __version__, "verdict": worst_of(found).value, "checks": checks}


def worst_of(found: Mapping[str, Sequence[Line]]) -> Verdict:
    """Return the worst verdict."""
    order = list(Verdict)
    return max((one.verdict for answers in found.values() for one in answers), key=order.index, default=Verdict.OK)


def summary(found: Mapping[str, Sequence[Line]]) -> str:
    """Return the whole in a sentence."""
    every = [one.verdict for answers in found.values() for one in answers]
    blocked, warnings = every.count(Verdict.BLOCKED), every.count(Verdict.WARNING)
    return f"Upgrade to {__version__}: {blocked:,} blocked, {counted(warnings, 'warning')}."
