"""What the chart makes for a tenant."""

from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.chart

Document = dict[str, Any]

TENANT: Document = {
    "name": "team-b",
    "createNamespace": True,
    "labels": {"company": "example"},
    "credentials": {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"},
    "quota": {"requests.cpu": "20"},
    "editors": ["team-b"],
    "viewers": ["auditors", "team-b"],
}


def of_namespace(found: list[Document], name: str) -> dict[tuple[str, str], Document]:
    return {
        (one["kind"], one["metadata"]["name"]): one
        for one in found
        if name in (one["metadata"].get("namespace"), one["metadata"]["name"])
    }


def test_name_alone_makes_service_accounts_in_a_namespace_that_is_there(documents: Any) -> None:
    kinds = {kind for kind, _ in of_namespace(documents({"tenants": ["team-a"]}), "team-a")}
    assert kinds == {"ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"}


def test_tenant_gets_namespace_secret_quota_and_bindings(documents: Any) -> None:
    found = of_namespace(documents({"tenants": ["team-a", TENANT]}), "team-b")

    namespace = found["Namespace", "team-b"]["metadata"]
    assert (
        namespace["labels"].items()
        >= {"company": "example", "pod-security.kubernetes.io/enforce": "restricted"}.items()
    )
    assert found["Secret", "object-store"]["stringData"] == TENANT["credentials"]
    assert found["ResourceQuota", "hudi-tenant"]["spec"]["hard"] == {"requests.cpu": "20"}
    groups = {
        name: (
            found["RoleBinding", name]["roleRef"]["name"],
            [one["name"] for one in found["RoleBinding", name]["subjects"]],
        )
        for name in ("hudi-editors", "hudi-viewers")
    }
    assert groups == {
        "hudi-editors": ("hudi-hudi-operator-edit", ["team-b"]),
        "hudi-viewers": ("view", ["team-b", "auditors"]),
    }


def test_uninstalling_the_chart_leaves_the_namespace_of_a_tenant(documents: Any) -> None:
    namespace = of_namespace(documents({"tenants": [TENANT]}), "team-b")["Namespace", "team-b"]
    assert namespace["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_tenant_that_stands_twice_is_made_once(documents: Any) -> None:
    found = documents({"tenants": ["team-b", TENANT, "team-b"]})
    places = [(one["kind"], one["metadata"]["name"], one["metadata"].get("namespace")) for one in found]
    assert len(places) == len(set(places))
    assert ("Namespace", "team-b", None) in places


@pytest.mark.parametrize(
    ("tenant", "named"),
    [
        ({"createNamespace": True}, "name"),
        ({"name": "Team"}, "/tenants/0/name"),
        ({"name": "team-b", "quotas": {}}, "quotas"),
        ({"name": "team-b", "editors": "team-b"}, "/tenants/0/editors"),
    ],
)
def test_tenant_that_says_something_else_is_refused_by_name(tenant: Document, named: str, template: Any) -> None:
    result = template({"tenants": [tenant]})
    assert result.returncode != 0
    assert named in result.stderr.replace(".", "/")


def test_editors_without_the_roles_that_they_need_are_refused(template: Any) -> None:
    result = template({"tenants": [TENANT], "aggregateRoles": False})
    assert "the editors of team-b need the roles of aggregateRoles" in result.stderr


def test_example_of_the_values_is_valid(chart: Any, template: Any) -> None:
    text = (chart / "values.yaml").read_text()
    _, _, rest = text.partition("tenants: []\n")
    lines = rest.partition("\n\n")[0].splitlines()
    example = yaml.safe_load("tenants:\n" + "\n".join(line.removeprefix("#") for line in lines))
    assert [one if isinstance(one, str) else one["name"] for one in example["tenants"]] == ["team-a", "team-b"]
    assert template(example).returncode == 0
