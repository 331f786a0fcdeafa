"""Which tables read another one: what the resources of any namespace say, and what they may change for another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.planning.model import Lineage, Reading, lineage_of

ROOT = Reading(namespace="team-a", name="flights", path="s3://lake/flights")


def reading(
    name: str, reads: str | None, namespace: str = "team-a", path: str | None = None, *, holds: bool = True
) -> Reading:
    source = f"s3://lake/{reads}" if reads else None
    return Reading(namespace=namespace, name=name, path=path or f"s3://lake/{name}", reads=source, holds=holds)


FOLDERS = st.sampled_from(["flights", "raw", "totals", "by-day", "copy", "of-the-copy"])
STRANGERS = st.builds(
    lambda namespace, name, lies_in, reads, holds: reading(
        name, reads, namespace=namespace, path=f"s3://lake/{lies_in}", holds=holds
    ),
    st.sampled_from(["evil", "zoo"]),
    st.sampled_from("abc"),
    FOLDERS,
    FOLDERS,
    st.booleans(),
)


def test_each_table_comes_after_the_one_that_it_reads_and_other_namespaces_are_told_apart() -> None:
    tables = [
        reading("by-day", "totals"),
        reading("totals", "flights"),
        reading("alone", None),
        reading("copy", "flights", namespace="team-b", path="s3://lake/b"),
        reading("of-the-copy", "b"),
        reading("flights", None),
    ]
    found = lineage_of(ROOT, tables)
    assert found.tables == ("totals", "by-day")
    assert found.elsewhere == ("team-b/copy", "team-a/of-the-copy")
    assert found.circle is None


def test_tables_that_read_one_another_are_found_once_and_a_rival_for_the_folder_makes_no_circle() -> None:
    root, totals = replace(ROOT, reads="s3://lake/totals"), reading("totals", "flights")
    assert lineage_of(root, [totals, reading("flights", "totals")]).circle == totals
    assert lineage_of(root, [replace(totals, holds=False)]).circle is not None, "of its own namespace any counts"
    rival = reading("mine", "totals", namespace="team-b", path="s3://lake/flights")
    assert lineage_of(ROOT, [totals, rival]) == Lineage(tables=("totals",))


@pytest.mark.parametrize("owner", ["team-a", "team-b"])
def test_a_table_of_another_namespace_makes_a_circle_only_if_it_holds_the_claim_on_its_folder(owner: str) -> None:
    root, raw = replace(ROOT, reads="s3://lake/raw"), reading("raw", None, namespace=owner)
    evil = reading("x", "flights", namespace="evil", path="s3://lake/raw", holds=False)
    behind = reading("y", "other", namespace="evil", path="s3://lake/raw", holds=False)
    of_others = reading("other", "flights", namespace="evil")
    found = lineage_of(root, [raw, evil, behind, of_others])
    assert found == Lineage(elsewhere=("evil/other", "evil/x", "evil/y"))
    upstream = reading("raw", "other", namespace="team-b")
    assert lineage_of(root, [upstream, of_others]).circle == upstream


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("namespace", ["evil", "zoo"])
def test_no_table_of_another_namespace_hides_one_that_reads_a_table_of_the_own(namespace: str, holds: bool) -> None:
    rival = reading("x", "flights", namespace=namespace, path="s3://lake/totals", holds=holds)
    tables = [reading("totals", "flights"), reading("by-day", "totals"), rival]
    assert lineage_of(ROOT, tables) == Lineage(tables=("totals", "by-day"), elsewhere=(f"{namespace}/x",))


@given(st.lists(STRANGERS, max_size=6))
def test_no_table_of_another_namespace_without_a_claim_changes_what_is_said_of_the_own(found: list[Reading]) -> None:
    root, copy = replace(ROOT, reads="s3://lake/raw"), reading("copy", "flights", namespace="team-b")
    own = [reading("totals", "flights"), reading("by-day", "totals"), reading("of-the-copy", "copy")]
    assert lineage_of(root, [*own, copy, *found]).tables == ("totals", "by-day")
    without = lineage_of(root, [*own, copy, *(replace(one, holds=False) for one in found)])
    assert without.circle is None
    assert without.told_in("team-a").names == ("totals", "by-day", "of-the-copy")


def test_nothing_is_behind_a_table_of_another_namespace_that_does_not_hold_the_claim_on_its_folder() -> None:
    rival = reading("x", "flights", namespace="evil", path="s3://lake/b", holds=False)
    tables = [rival, reading("copy", None, namespace="team-b", path="s3://lake/b"), reading("of-the-copy", "b")]
    assert lineage_of(ROOT, tables) == Lineage(elsewhere=("evil/x",))
