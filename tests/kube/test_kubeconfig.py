"""Kubeconfigs that a person's machine may have: broken, missing, or with more than is supported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_operator.kube.errors import Rejected
from hudi_operator.kube.transport import load_context

GOOD_CONFIG = {
    "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
}


@pytest.mark.parametrize(
    "content", ["", "[]", "{a: [", "contexts: x", "7", "\x00", json.dumps({**GOOD_CONFIG, "contexts": [7]})]
)
async def test_file_that_is_no_kubeconfig_is_refused_with_a_sentence(content: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(Rejected, match="no credentials for a Kubernetes API server"):
        await load_context(kubeconfig=str(tmp_path / "config"), context=None)


async def test_missing_files_of_a_list_are_left_out_and_a_list_without_any_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(json.dumps(GOOD_CONFIG))
    _, namespace = await load_context(kubeconfig=f"/no/such/file:{tmp_path / 'config'}", context=None)
    assert namespace == "default"
    with pytest.raises(Rejected, match="there is no file /no/such/file"):
        await load_context(kubeconfig="/no/such/file", context=None)


@pytest.mark.parametrize("field", ["as", "as-groups"])
async def test_impersonation_is_refused_and_never_dropped(field: str, tmp_path: Path) -> None:
    user = {"name": "u", "user": {"token": "t", field: ["somebody"]}}
    (tmp_path / "config").write_text(json.dumps({**GOOD_CONFIG, "users": [user]}))
    with pytest.raises(Rejected, match="impersonates another"):
        await load_context(kubeconfig=str(tmp_path / "config"), context=None)
