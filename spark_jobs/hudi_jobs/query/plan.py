"""A plan of Spark SQL as plain values."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.java_classes import java_class
from hudi_jobs.jvm import JavaObject


@dataclass
class Node:
    """A node of a plan or expression, with its texts and parts."""

    kind: str
    """Full name of its Java class."""

    names: tuple[str, ...] = ()
    """The node's texts: the name of a relation, of a function, and so on (`PlanReader.java`)."""

    parts: list["Node"] = field(default_factory=list)
    """Children, inner children, and the plans inside its expressions."""

    depth: int = 0


class PlanReader:
    """Reads plans inside the JVM, so that a plan costs a single call instead of ten per node."""

    def __init__(self, spark: SparkSession) -> None:
        self._reader: JavaObject = java_class(spark, "query.PlanReader")()

    def read(self, plan: JavaObject) -> list[Node]:
        """Return the nodes of a plan, topmost first."""
        return tree(json.loads(self._reader.apply(plan)))


def tree(entries: Iterable[Sequence[int | str]]) -> list[Node]:
    """Return the nodes from (depth, class, names...) tuples, linked to their parts."""
    nodes: list[Node] = []
    above: list[Node] = []
    for depth, kind, *names in entries:
        node = Node(str(kind), tuple(map(str, names)), depth=int(depth))
        del above[node.depth :]
        if above:
            above[-1].parts.append(node)
        above.append(node)
        nodes.append(node)
    return nodes
