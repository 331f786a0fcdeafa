"""Which namespaces may use a class, in the words of Kubernetes: names, and a selector of labels."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.values.base import SUBDOMAIN, Model, Name, rules, words

LabelValue = Annotated[
    str,
    Field(
        pattern=r"^(([A-Za-z0-9][A-Za-z0-9._-]*)?[A-Za-z0-9])?$",
        max_length=63,
        json_schema_extra=words(
            "must be the value of a label: letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        ),
    ),
]
"""The value of a label."""

LABEL_KEY_PATTERN = rf"^({SUBDOMAIN}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?$"
"""The pattern of a label's key, with or without a prefix."""


def label_keys(field: str) -> tuple[str, str]:
    """Return the rule that the keys of a field are keys of labels, because the API server refuses pods with others."""
    return (
        f"!has(self.{field}) || self.{field}.all(key, key.size() <= 317 && key.matches(r'{LABEL_KEY_PATTERN}'))",
        f"{field} must have keys of labels, such as team or example.com/team",
    )


LabelKey = Annotated[
    str,
    Field(
        pattern=LABEL_KEY_PATTERN,
        max_length=317,
        json_schema_extra=words("must be the key of a label, such as team or example.com/team"),
    ),
]
"""The key of a label, or of a taint."""


class SelectorOperator(StrEnum):
    """The comparison of a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelRequirement(Model):
    """The requirement on a label."""

    key: LabelKey
    """The label."""

    operator: SelectorOperator
    """In and NotIn compare the label's value with values, Exists and DoesNotExist check for the label itself."""

    values: Annotated[tuple[LabelValue, ...], Field(max_length=64)] = ()
    """The values to compare with."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                "In and NotIn need values, Exists and DoesNotExist have none",
            )
        )
    )


class NamespaceSelector(Model):
    """Labels that a namespace must have, as selectors of Kubernetes say it; all of them must hold."""

    match_labels: dict[str, LabelValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Labels with exactly these values."""

    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=16)] = ()
    """Further requirements."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.matchLabels) && size(self.matchLabels) > 0) || "
                "(has(self.matchExpressions) && size(self.matchExpressions) > 0)",
                "the selector must require something: for every namespace, leave allowedNamespaces out",
            ),
            label_keys("matchLabels"),
        )
    )


class AllowedNamespaces(Model):
    """The namespaces with tables that may use a class: named namespaces, and namespaces that the selector selects."""

    names: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """Namespaces by their names."""

    selector: NamespaceSelector | None = None
    """Namespaces by their labels."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.names) && size(self.names) > 0) || has(self.selector)",
                "allowedNamespaces needs names or a selector; for every namespace, leave it out",
            )
        )
    )
