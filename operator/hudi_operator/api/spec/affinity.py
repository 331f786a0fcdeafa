"""Which nodes the pods of a class prefer or need, in the words of Kubernetes, with bounds on every list."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.values.base import LARGEST_INT, Model, rules
from hudi_operator.api.values.namespaces import LabelKey, LabelRequirement, LabelValue, label_keys

_Weight = Annotated[int, Field(ge=1, le=100)]


class TolerationOperator(StrEnum):
    """The comparison of a taint's value."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class TaintEffect(StrEnum):
    """The effect of a taint."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Model):
    """A taint of nodes that pods tolerate."""

    key: LabelKey
    """Key of the taint; a toleration of every taint is not possible."""

    operator: TolerationOperator = TolerationOperator.EQUAL
    """Equal compares the taint's value with value, Exists tolerates every value."""

    value: LabelValue | None = None
    """Value of the taint; only for operator Equal."""

    effect: TaintEffect | None = None
    """Effect of the taint; without it every effect is tolerated."""

    toleration_seconds: Annotated[int, Field(ge=0, le=LARGEST_INT)] | None = None
    """How long a pod stays on a node with the taint, for effect NoExecute; without it the pod stays."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
                "a toleration with operator Exists has no value",
            ),
            (
                "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
                "tolerationSeconds needs effect NoExecute",
            ),
        )
    )


class NodeRequirement(LabelRequirement):
    """The requirement on a label of a node."""

    values: Annotated[tuple[LabelValue, ...], Field(max_length=16)] = ()
    """The values to compare with."""


class NodeTerm(Model):
    """Requirements on the labels of a node; all of them must hold."""

    match_expressions: Annotated[tuple[NodeRequirement, ...], Field(min_length=1, max_length=8)]
    """Requirements on labels of the node."""


class RequiredNodes(Model):
    """Nodes that pods may run on; one of the terms must hold."""

    node_selector_terms: Annotated[tuple[NodeTerm, ...], Field(min_length=1, max_length=4)]
    """Terms of which one must hold."""


class PreferredNodes(Model):
    """Nodes that pods prefer."""

    weight: _Weight
    """Weight of the preference, from 1 to 100."""

    preference: NodeTerm
    """The preferred nodes."""


class NodeAffinity(Model):
    """Affinity of pods to nodes."""

    required_during_scheduling_ignored_during_execution: RequiredNodes | None = None
    """Nodes that pods need."""

    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredNodes, ...], Field(max_length=4)
    ] = ()
    """Nodes that pods prefer."""


class PodSelector(Model):
    """Labels of pods in the namespace of the table; all of them must match."""

    match_labels: dict[str, LabelValue] = Field(json_schema_extra={"minProperties": 1, "maxProperties": 8})
    """Labels with exactly these values."""

    model_config = ConfigDict(json_schema_extra=rules(label_keys("matchLabels")))


class PodTerm(Model):
    """Pods, and the part of the cluster that counts as the same place."""

    topology_key: LabelKey
    """Label of nodes: nodes with the same value are one place."""

    label_selector: PodSelector
    """The pods, in the namespace of the table."""


class PreferredPods(Model):
    """A preferred place by the pods that run there."""

    weight: _Weight
    """Weight of the preference, from 1 to 100."""

    pod_affinity_term: PodTerm
    """The pods and the place."""


class PodAffinity(Model):
    """Affinity of pods to other pods, or from other pods."""

    required_during_scheduling_ignored_during_execution: Annotated[tuple[PodTerm, ...], Field(max_length=4)] = ()
    """Terms that must hold."""

    preferred_during_scheduling_ignored_during_execution: Annotated[tuple[PreferredPods, ...], Field(max_length=4)] = ()
    """Terms that should hold."""


class Affinity(Model):
    """Where pods run, by nodes and by other pods."""

    node_affinity: NodeAffinity | None = None
    """Nodes."""

    pod_affinity: PodAffinity | None = None
    """Pods to run beside."""

    pod_anti_affinity: PodAffinity | None = None
    """Pods to stay away from."""


class WhenUnsatisfiable(StrEnum):
    """What happens to a pod that no node can take without breaking the constraint."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class TopologySpread(Model):
    """How evenly pods spread over places; the operator selects the pods."""

    max_skew: Annotated[int, Field(ge=1, le=100)]
    """Largest difference between the numbers of pods of two places."""

    topology_key: LabelKey
    """Label of nodes: nodes with the same value are one place."""

    when_unsatisfiable: WhenUnsatisfiable
    """DoNotSchedule keeps a pod waiting, ScheduleAnyway only prefers."""
