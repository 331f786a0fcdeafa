"""The cluster of a command: kubectl's options, the connection, and errors as sentences with an exit code.

The Kubernetes client is imported when a command connects, so that help and completion of options stay fast.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import Option, combined
from hudi_operator.cli.base.exit_codes import FOUND, NO_ACCESS
from hudi_operator.cli.base.object_names import ObjectName

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from hudi_operator.kube.person import PersonClient

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0
_COMPLETION_SECONDS = 3.0


class Place(NamedTuple):
    """Which cluster and namespace a command is about; None means as the kubeconfig says."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


class Failed(click.ClickException):
    """A command could not do what was asked."""

    exit_code = FOUND

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


class NoAccess(Failed):
    """The cluster does not answer, or does not allow the request."""

    exit_code = NO_ACCESS


def cluster_options(function: Callable[..., int]) -> Callable[..., int]:
    """Declare kubectl's options for a cluster; the function gets them as `place`."""

    @wraps(function)
    def with_place(*, kubeconfig: str | None, context: str | None, namespace: str | None, **given: Any) -> int:  # noqa: ANN401 - as the function declares
        return function(place=Place(kubeconfig, context, namespace), **given)

    options = combined(
        click.option(
            "-n",
            "--namespace",
            type=ObjectName(),
            metavar="NAME",
            help="The namespace (default: that of the context).",
        ),
        click.option("--context", metavar="NAME", help="The context of the kubeconfig."),
        click.option(
            "--kubeconfig", metavar="FILE", help="The kubeconfig (default: $KUBECONFIG, the pod's, ~/.kube/config)."
        ),
    )
    return options(with_place)


_NO_DEFINITIONS = (
    "The operator is not installed in this cluster, or lacks a definition: look at the context, or apply the "
    "definitions by `hudi-operator crds | kubectl apply --server-side -f -`."
)


def in_cluster(
    place: Place, work: "Callable[[PersonClient], Awaitable[T]]", *, timeout_seconds: float = TIMEOUT_SECONDS
) -> T:
    """Return the result of work with a client; raises `Failed` with a sentence and an exit code."""
    from hudi_operator.kube import errors  # noqa: PLC0415 - half a second
    from hudi_operator.kube.person import PersonClient  # noqa: PLC0415

    async def connected() -> T:
        kubeconfig, context, namespace = place
        try:
            client = await PersonClient.connect(kubeconfig=kubeconfig, context=context, timeout_seconds=timeout_seconds)
        except errors.KubernetesError as error:
            raise NoAccess(str(error)) from error
        client.namespace = namespace or client.namespace
        async with client:
            try:
                return await work(client)
            except errors.NotServed as error:
                raise NoAccess(f"{error}. {_NO_DEFINITIONS}") from error
            except (errors.ApiUnavailable, errors.Forbidden) as error:
                raise NoAccess(str(error)) from error
            except errors.KubernetesError as error:
                raise Failed(str(error)) from error

    return asyncio.run(connected())


all_namespaces_option = click.option("-A", "--all-namespaces", is_flag=True, help="The tables of all namespaces.")
selector_option = click.option(
    "-l", "--selector", metavar="LABELS", help="Only tables with these labels, as in kubectl."
)


class TableName(ObjectName):
    """The name of a HudiTable, completed from the cluster, with `ht/NAME` as kubectl writes it, too."""

    name = "table"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name without its kind."""
        return super().convert(without_kind(value), param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> "list[CompletionItem]":
        """Return the tables of the namespace whose names begin with a text; none where the cluster does not answer."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only shells need it

        from hudi_operator.kube.keys import TABLE  # noqa: PLC0415

        place = Place(*(ctx.params.get(name) for name in Place._fields))
        try:
            found = in_cluster(
                place, lambda client: client.list(TABLE, client.namespace), timeout_seconds=_COMPLETION_SECONDS
            )
        except Failed:
            return []
        names = sorted(str(one["metadata"]["name"]) for one in found)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def table_argument(*, required: bool = True) -> Option:
    """Declare the argument TABLE."""
    return click.argument("table", type=TableName(), required=required, help="Name of the HudiTable.")


def without_kind(word: str) -> str:
    """Return the name in `ht/NAME`, or the word itself."""
    kind, slash, name = word.partition("/")
    return name if slash and kind.lower().partition(".")[0] in {"ht", "huditable", "huditables"} else word
