"""The status of a HudiTable with what the operator keeps for itself at the places that it has in code."""

from collections.abc import Mapping
from typing import Any

from hudi_operator.api.salvage import read_by_parts
from hudi_operator.api.status.memory import MEMORY, joined
from hudi_operator.api.status.table_status import HudiTableStatus


def whole(document: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the status of a HudiTable's document as one; empty where there is none."""
    stored = (document or {}).get("status")
    if not stored:
        return {}
    status, _ = read_by_parts(HudiTableStatus, joined(stored))
    shown = {key: value for key, value in stored.items() if key != MEMORY}
    return {**shown, **status.model_dump(mode="json", by_alias=True, exclude_none=True)}
