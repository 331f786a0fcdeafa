"""The base of every document that crosses between the operator and the driver."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Document(BaseModel):
    """A frozen value, written in camelCase as Kubernetes documents are.

    Unknown fields are ignored, so that an older driver image can read a newer operator's request.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    def copy_with(self, **changes: Any) -> Self:  # noqa: ANN401 - the plugin of mypy gives each name its field's type
        """Return a copy with some fields replaced; raise TypeError for a name that is no field.

        pydantic's own `model_copy` accepts any name and keeps it. Neither validates a value: mypy checks its type
        (`dev/toolkit/mypy_copy_with.py`).
        """
        fields = type(self).__pydantic_fields__
        for name in changes:
            if name not in fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        return self.model_copy(update=changes)
