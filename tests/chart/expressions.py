"""What an expression of Prometheus asks for: its metrics and labels, and those of them that nobody serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser

from hudi_operator.telemetry.metrics import metrics

TARGET = frozenset({"job", "namespace", "pod", "instance", "container", "endpoint"})
"""Labels that a scrape adds; it would add `service` too, but the chart's ServiceMonitor keeps that of the metric."""

_INSIDE = ("lhs", "rhs", "expr", "args", "vector_selector")


def selectors(expression: str) -> list[Any]:
    """Return the selectors of an expression; raise ValueError for an expression that Prometheus would refuse."""
    return [node for node in _nodes(promql_parser.parse(expression)) if hasattr(node, "matchers")]


def mistakes(expression: str) -> list[str]:
    """Return what an expression asks for and no metric of the operator has."""
    known = {
        f"{one.name}{suffix}": {*one.labels, *TARGET, *(("le",) if suffix == "_bucket" else ())}
        for one in metrics.descriptions
        for suffix in (("_bucket", "_sum", "_count") if one.kind == "histogram" else ("",))
    }
    found, asked = [], selectors(expression)
    for selector in asked:
        if selector.name not in known:
            found.append(f"metric {selector.name}")
            continue
        labels = {matcher.name for matcher in selector.matchers.matchers}
        found += [f"label {label} of {selector.name}" for label in sorted(labels - known[selector.name])]
    served = {label for selector in asked for label in known.get(selector.name, ())}
    grouped = {label for node in _nodes(promql_parser.parse(expression)) for label in _grouping(node)}
    return found + [f"label {label}" for label in sorted(grouped - served)]


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for name in _INSIDE:
        inner = getattr(node, name, None)
        for one in inner if isinstance(inner, list) else [inner] if inner is not None else []:
            yield from _nodes(one)


def _grouping(node: Any) -> Iterator[str]:
    """Yield the labels that an aggregation or a join names."""
    modifier = getattr(node, "modifier", None)
    if modifier is None:
        return
    matching = getattr(modifier, "matching", modifier)
    yield from getattr(matching, "labels", None) or ()
    yield from getattr(modifier, "group_labels", None) or ()
