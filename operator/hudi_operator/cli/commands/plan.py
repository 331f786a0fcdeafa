"""`kubectl hudi plan`: what resources in files would do, before they are merged."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator import __version__
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.output import has_colour, moment
from hudi_operator.cli.plan.decision import class_of, decide_new, job_of, unsafe_settings
from hudi_operator.cli.plan.document_checks import defaults, outside_of_spec, problems
from hudi_operator.cli.plan.files import Resource, Unreadable, read_resources
from hudi_operator.cli.plan.plan_text import Live, Planned, plan_text
from hudi_operator.cli.render.text import value_as
from hudi_operator.kube.errors import Forbidden, NotFound, NotServed, Rejected
from hudi_operator.kube.keys import TABLE, TABLE_CLASS
from hudi_operator.kube.objects import ObjectKey

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_IMAGE = "HUDI_OPERATOR_SPARK_IMAGE"


@declare(
    details="Needs no cluster: it checks fields and values, and what the class in the same files allows. It decides "
    "as the operator would about a new table. `-f -` reads the standard input, such as what kustomize or helm prints. "
    "A key that comes twice is refused.\n\n"
    "Rules between fields are those of the API server: with --live it checks them and changes nothing. The difference "
    "to the cluster is then shown, and classes that the files do not have are read.",
    examples=[
        "plan -f tables/",
        "plan -f class.yaml -f orders.yaml --defaults",
        "plan -f class.yaml -f orders.yaml --manifest",
        "plan -f orders.yaml --live -n team-a",
        "plan -f - --live",
    ],
    exit_codes={
        0: "all would be accepted",
        1: "something is invalid or refused",
        2: "a file cannot be read, or the arguments make no sense",
        3: "with --live: the cluster is unreachable, or does not allow it",
    },
)
@click.option(
    "-f", "--filename", "paths", multiple=True, required=True, metavar="PATH", help="A file or folder of YAML, or -."
)
@click.option(
    "--defaults", "with_defaults", is_flag=True, help="Show the default of every field that a spec leaves out."
)
@click.option("--manifest", is_flag=True, help="Print the Job that would start first on each table, as YAML.")
@click.option("--live", is_flag=True, help="Ask the API server too; nothing is changed.")
@click.option(
    "--spark-image",
    metavar="IMAGE",
    envvar=_IMAGE,
    default=f"hudi-operator-spark:{__version__}",
    help="The image of classes that name none.",
)
@cluster_options
def command(
    *, place: Place, paths: tuple[str, ...], with_defaults: bool, manifest: bool, live: bool, spark_image: str
) -> int:
    """Plan the files."""
    try:
        resources = read_resources(paths)
    except Unreadable as error:
        raise click.UsageError(escaped(str(error))) from error
    if not resources:
        raise click.UsageError("the files have no HudiTable and no HudiTableClass")
    classes: list[Mapping[str, Any]] = [one.document for one in resources if one.kind == "HudiTableClass"]
    answers: Sequence[Live | None] = [None] * len(resources)
    namespace = place.namespace or "default"
    if live:
        namespace, answers, known = in_cluster(place, lambda client: _ask(client, resources))
        classes += known
    planned = [
        replace(_plan(one, classes, namespace, image=spark_image, with_defaults=with_defaults), live=answer)
        for one, answer in zip(resources, answers, strict=True)
    ]
    _print(planned, manifest=manifest)
    return FOUND if any(one.is_refused for one in planned) else OK


def _plan(
    resource: Resource, classes: Sequence[Mapping[str, Any]], namespace: str, *, image: str, with_defaults: bool
) -> Planned:
    wrong = tuple(problems(resource))
    if wrong:
        return Planned(resource=resource, problems=wrong)
    planned = Planned(resource=resource, defaults=defaults(resource) if with_defaults else None)
    if resource.kind != "HudiTable":
        return replace(planned, unchecked=unsafe_settings(resource, now=moment()))
    table_class = class_of(resource.document, classes)
    if table_class is None:
        name = resource.document["spec"].get("tableClassName") or "the default class"
        return replace(planned, unchecked=f"The files do not have {name}: give its file with -f, or use --live.")
    decision = decide_new(resource, table_class, namespace=namespace, default_image=image, now=moment())
    return replace(planned, decision=decision)


def _print(planned: Sequence[Planned], *, manifest: bool) -> None:
    if not manifest:
        print("\n\n".join(plan_text(one, colour=has_colour()) for one in planned))
        return
    for one in planned:
        if one.decision is not None and one.decision.first is not None and not one.is_refused:
            print(f"---\n{value_as(job_of(one.decision), 'yaml')}")
        elif one.is_refused:
            print(plan_text(one, colour=False), file=sys.stderr)


class _Asked(NamedTuple):
    """The namespace of the client, the answer to each resource, and the classes that this person may read."""

    namespace: str
    answers: list[Live | None]
    classes: list[dict[str, Any]]


async def _ask(client: "PersonClient", resources: Sequence[Resource]) -> _Asked:
    """Ask the API server about the resources."""
    answers = [await _answer(client, one) for one in resources]
    try:
        classes = await client.list(TABLE_CLASS, None)
    except Forbidden:
        classes = []
    return _Asked(client.namespace, answers, classes)


async def _answer(client: "PersonClient", resource: Resource) -> Live | None:
    """Return the answer of the API server; None where the document has no kind and name to ask by."""
    if outside_of_spec(resource):
        return None
    metadata = resource.document["metadata"]
    kind = TABLE if resource.kind == "HudiTable" else TABLE_CLASS
    namespace = str(metadata.get("namespace") or client.namespace) if kind.namespaced else ""
    key = ObjectKey(kind, namespace, resource.name)
    before = await client.get(key)
    try:
        after = await client.apply_dry_run(key, resource.document)
    except NotServed:
        raise
    except (Rejected, NotFound) as error:  # the namespace may be missing
        return Live(refusal=str(error))
    return Live(before=before["spec"] if before is not None else None, after=after["spec"])
