"""A plan of Spark SQL as plain values."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from pyspark.sql import SparkSession

from hudi_jobs.jvm import JavaObject, classes, java_objects

_READER = "PlanReader"


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
    """Reads plans inside the JVM, so that a plan costs one call instead of ten per node."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = classes(spark)
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(files(__package__).joinpath(f"{_READER}.java").read_text())
        (constructor,) = compiler.getClassLoader().loadClass(_READER).getConstructors()
        self._reader: JavaObject = constructor.newInstance(java_objects(spark))
        # Called by reflection, because py4j confuses it with a class compiled by another reader.
        function = jvm.java.lang.Class.forName("java.util.function.Function")
        self._apply: JavaObject = next(method for method in function.getMethods() if method.getName() == "apply")
        self._spark = spark

    def read(self, plan: JavaObject) -> list[Node]:
        """Return the nodes of a plan, topmost first."""
        return tree(json.loads(self._apply.invoke(self._reader, java_objects(self._spark, plan))))


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
