"""Reads YAML as the API server and GitOps tools understand it, with bounds on what a text may become."""

from typing import Any

import yaml

_MOST_VALUES = 200_000
_DEEPEST = 64
_SCALARS = (str, int, float, bool, type(None))
_PREFIX = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """YAML without dates and numbers to base 60, which are texts in Kubernetes, and without repeated keys."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ANN401 - as the library has it
        """Return the tag of a value."""
        tag = str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]  # the stubs lack it
        numbers = {f"{_PREFIX}int", f"{_PREFIX}float"}
        is_text = tag == f"{_PREFIX}timestamp" or (tag in numbers and ":" in value)
        return f"{_PREFIX}str" if is_text else tag

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        """Return the node of a mapping before keys are merged into it; raises `YAMLError` for a repeated key."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key in (one for one, _ in node.value if isinstance(one, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} comes twice", key.start_mark
                )
            seen.add(key.value)
        return node


def load_documents(text: str) -> list[Any]:
    """Return the documents of a text; raises `ValueError` with a sentence about what is wrong."""
    try:
        documents = list(yaml.load_all(text, _Loader))
    except RecursionError:
        raise ValueError("its values lie too deep inside each other") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    _check(documents)
    return documents


def _check(documents: list[Any]) -> None:
    """Visit all values, with aliases as often as they are used; raises `ValueError` for too many, and for odd ones."""
    left: list[tuple[Any, int]] = [(documents, 0)]
    count = 0
    while left:
        value, depth = left.pop()
        count += 1
        if count > _MOST_VALUES or depth > _DEEPEST:
            raise ValueError(f"it has more than {_MOST_VALUES:,} values, or values that lie too deep inside each other")
        if isinstance(value, dict):
            left += [(one, depth + 1) for one in (*value, *value.values())]
        elif isinstance(value, list):
            left += [(one, depth + 1) for one in value]
        elif not isinstance(value, _SCALARS):
            raise ValueError(f"it has a value of type {type(value).__name__}, which Kubernetes does not know")  # noqa: TRY004
