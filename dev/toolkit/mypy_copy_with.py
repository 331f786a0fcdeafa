"""A plugin of mypy: `Document.copy_with` takes the fields of its model, each by name and with the field's type."""

from collections.abc import Callable

from mypy.nodes import ARG_NAMED_OPT, Var
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import AnyType, FunctionLike, Instance, Type, TypeOfAny, TypeVarType, get_proper_type
from pydantic.mypy import METADATA_KEY

_DOCUMENT = "hudi_jobs.contract.document.Document"


class CopyWith(Plugin):
    """Gives `copy_with` one optional argument for each field of the model that it is called on."""

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        """Return what changes the signature of `copy_with`, and nothing for other methods."""
        return _with_fields if fullname.endswith(".copy_with") else None


def _with_fields(context: MethodSigContext) -> FunctionLike:
    model = get_proper_type(context.type)
    if isinstance(model, TypeVarType):
        model = get_proper_type(model.upper_bound)
    if not isinstance(model, Instance) or not model.type.has_base(_DOCUMENT):
        return context.default_signature
    names = list(model.type.metadata[METADATA_KEY]["fields"])
    return context.default_signature.copy_modified(
        arg_types=[_type_of(model, name) for name in names],
        arg_kinds=[ARG_NAMED_OPT] * len(names),
        arg_names=names,
    )


def _type_of(model: Instance, name: str) -> Type:
    symbol = model.type.get(name)
    node = symbol.node if symbol is not None else None
    return node.type if isinstance(node, Var) and node.type is not None else AnyType(TypeOfAny.from_error)


def plugin(_: str) -> type[Plugin]:
    """Return the plugin; mypy calls this with its version."""
    return CopyWith
