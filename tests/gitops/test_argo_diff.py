"""Argo CD's difference, on values: what it shows, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.gitops.argo_diff import LAST_APPLIED, is_out_of_sync, predicted

Document = dict[str, Any]
GIT: Document = {"metadata": {"name": "orders", "annotations": {"team": "sales"}}, "spec": {"keys": [{"a": 1}], "b": 2}}


def live(applied: Document | None = GIT, *, spec: Document | None = None, **annotations: str) -> Document:
    last = {LAST_APPLIED: json.dumps(applied)} if applied is not None else {}
    metadata = {"name": "orders", "uid": "u", "annotations": {"team": "sales", **last, **annotations}}
    return {"metadata": metadata, "spec": {**GIT["spec"], **(spec or {})}, "status": {"ready": True}}


@pytest.mark.parametrize("applied", [GIT, None], ids=["client-side", "server-side"])
def test_annotation_and_field_that_git_does_not_name_are_no_difference(applied: Document | None) -> None:
    assert not is_out_of_sync(GIT, live(applied))
    assert not is_out_of_sync(GIT, live(applied, spec={"suspend": True}, **{"hudi-operator.io/suspend": "maria"}))


@pytest.mark.parametrize("applied", [GIT, None], ids=["client-side", "server-side"])
@pytest.mark.parametrize("spec", [{"b": 3}, {"keys": [{"a": 2}]}, {"keys": [{"a": 1}, {"a": 2}]}])
def test_field_that_git_names_is_set_back(applied: Document | None, spec: Document) -> None:
    changed = live(applied, spec=spec)
    assert is_out_of_sync(GIT, changed)
    assert predicted(GIT, changed)["spec"] == GIT["spec"]


def test_field_that_git_no_longer_names_is_removed_if_it_was_applied() -> None:
    applied = {**GIT, "spec": {**GIT["spec"], "suspend": True}}
    changed = live(applied, spec={"suspend": True})
    assert is_out_of_sync(GIT, changed)
    assert "suspend" not in predicted(GIT, changed)["spec"]
