"""What went wrong inside the JVM, as plain values: the chain of Java exceptions, outermost first."""

import re
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError

from hudi_jobs.jvm import JavaObject

_DEEPEST = 20
_CAUSED_BY = re.compile(r"^\s*Caused by: ([\w.$]+)(?:: (.*))?$", re.MULTILINE)
_TASK_FAILURE = re.compile(r"Lost task [^\n]*?: ([\w.$]+)(?:: (.*))?")


@dataclass(frozen=True)
class Cause:
    """One exception of a chain: its Java class name and its message."""

    kind: str
    message: str

    @property
    def first_line(self) -> str:
        """The part of the message that a person should see.

        What the S3 client adds about its request is cut: the ids differ each time, and the status would with them.
        """
        lines = self.message.strip().splitlines()
        return lines[0].partition(" (Service:")[0].strip() if lines else self.kind.rpartition(".")[2]


def causes_of(error: BaseException) -> tuple[Cause, ...]:
    """Return the chain of an exception that came out of PySpark or py4j.

    Failures of distributed tasks arrive as text inside the outer message, so their classes are read out of it too.
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
