"""The base of every document that crosses between the operator and the driver."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Document(BaseModel):
    """A frozen value, written in camelCase as Kubernetes documents are.

    Unknown fields are ignored, so that an older driver image can read a newer operator's request.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")
