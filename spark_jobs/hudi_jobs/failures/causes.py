"""Extracts the chain of Java exceptions as plain values, outermost first."""

import re
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError

from hudi_jobs.jvm import JavaObject

_DEEPEST = 20
_CAUSED_BY = re.compile(r"^\s*Caused by: ([\w.$]+)(?:: (.*))?$", re.MULTILINE)
_TASK_FAILURE = re.compile(r"Lost task [^\n]*?: ([\w.$]+)(?:: (.*))?")


@dataclass(frozen=True)
class Cause:
    """An exception of a chain: its Java class name and message."""

    kind: str
    message: str

    @property
    def first_line(self) -> str:
        """The part of the message to show to a person.

        The S3 client's request details are cut: their ids differ each time, and would change the status each time.
        """
        lines = self.message.strip().splitlines()
        return lines[0].partition(" (Service:")[0].strip() if lines else self.kind.rpartition(".")[2]


def causes_of(error: BaseException) -> tuple[Cause, ...]:
    """Return the exception chain of a PySpark or py4j error.

    Failures of distributed tasks arrive as text inside the outer message, so their classes are parsed from it too.
    """
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return (Cause(type(error).__name__, str(error)),)
    chain: list[Cause] = []
    while java is not None and len(chain) < _DEEPEST:
        chain.append(Cause(str(java.getClass().getName()), _message(java)))
        java = java.getCause()
    embedded = [found for cause in chain for found in _embedded(cause.message)]
    return (*chain, *(cause for cause in embedded if cause not in chain))


def _message(java: JavaObject) -> str:
    message = java.getMessage()
    return "" if message is None else str(message)


def _embedded(message: str) -> list[Cause]:
    found = [*_TASK_FAILURE.findall(message), *_CAUSED_BY.findall(message)]
    return [Cause(kind, text) for kind, text in found]
