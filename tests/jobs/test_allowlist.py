"""Settings that a table may make itself, and the ways around that list which must not exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.jobs.allowlist import refused_keys

OWNED = ("spark.master", "spark.hadoop.fs.s3a.endpoint", "spark.driver.extraJavaOptions")


def refused(*keys: str, allowed: tuple[str, ...] = (), prefix: str = "spark.") -> tuple[str, ...]:
    return refused_keys(dict.fromkeys(keys, "x"), allowed=allowed, prefix=prefix, owned=OWNED)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("spark.sql.ansi.enabled", ("spark.sql.ansi.enabled",)),
        ("spark.sql.ansi.enabled", ("spark.sql.*",)),
        ("spark.sql.ansi.enabled", ("spark.*",)),
        ("spark.sql.ansi.enabled", ("*",)),
        ("spark.sql.ansi.enabled", ("spark.ui.*", "SPARK.SQL.ANSI.*")),
        ("spark.SQL.ansi.enabled", ("spark.sql.*",)),
        ("spark.sql.ansi.enabled", (" spark.sql.* ",)),
    ],
)
def test_a_key_that_the_class_allows_is_accepted(key: str, allowed: tuple[str, ...]) -> None:
    assert refused(key, allowed=allowed) == ()


@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.sql",
        "spark.sqlx.ansi",
        "spark.sql.ansi.enabled2",
        "spark.sql.ansi",
        "sparkXsql.ansi.enabled",
        "hoodie.table.name",
        "fs.s3a.endpoint",
        "",
        " spark.sql.ansi.enabled",
        "spark.sql.ansi.enabled ",
        "spark.sql.ansi.enabled\n",
        "spark.sql.ansi.enabled\x00",
        "spark.sql.ansi.enabled=true spark.jars",
        "spark.sql.ansi.enabled\u200b",
        "spark.sql.an\u017fi.enabled",
        "\u017fpark.sql.ansi.enabled",
        "spar\u212a.sql.ansi.enabled",
        "spark.sql.\u0430nsi.enabled",
        "\uff53park.sql.ansi.enabled",
        "spark.sql.ansi.enabled\u0307",
        "spark/sql/ansi/enabled",
        "spark.${spark.jars}",
        ".spark.sql.ansi.enabled",
        "*",
        "spark.sql.*",
    ],
)
def test_every_other_spelling_is_refused(key: str) -> None:
    assert len(refused(key, allowed=("spark.sql.ansi.enabled",))) == 1


@pytest.mark.parametrize(
    "key",
    [
        "spark.a\n",
        "spark.a b",
        "spark.a\u017f",
        "spar\u212a.a",
        "spark.a\u0307",
        "spark.${x}",
        "spark.a\x00",
        " spark.a",
    ],
)
def test_a_key_that_is_not_plain_is_refused_even_where_everything_is_allowed(key: str) -> None:
    assert refused(key, allowed=("*",)) == (f"{key!r} is not a plain key",)


@pytest.mark.parametrize(
    "key",
    [
        "spark.master",
        "SPARK.MASTER",
        "Spark.Master",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.FS.S3A.endpoint",
        "spark.driver.extrajavaoptions",
    ],
)
@pytest.mark.parametrize("allowed", [("*",), ("spark.*",), ("spark.master", "spark.hadoop.*", "spark.driver.*")])
def test_a_key_of_the_operator_cannot_be_allowed(key: str, allowed: tuple[str, ...]) -> None:
    assert refused(key, allowed=allowed) == (f"{key} is set by the operator from the typed fields of the spec",)


def test_nothing_is_allowed_by_an_empty_list() -> None:
    assert len(refused("spark.a", "spark.b")) == 2


def test_every_refused_key_has_its_own_sentence() -> None:
    assert refused("spark.jars", "hoodie.x", "spark .x", "spark.ui.port", allowed=("spark.ui.*",)) == (
        "spark.jars is not among the keys that the class allows",
        "hoodie.x does not start with spark.",
        "'spark .x' is not a plain key",
    )


def test_hudi_options_have_a_prefix_of_their_own() -> None:
    assert refused("spark.jars", allowed=("*",), prefix="hoodie.") == ("spark.jars does not start with hoodie.",)
    assert refused("hoodie.bloom.x", allowed=("hoodie.bloom.*",), prefix="hoodie.") == ()


@given(st.text(max_size=40))
def test_no_key_passes_that_does_not_start_as_the_list_says(key: str) -> None:
    passed = not refused(key, allowed=("spark.sql.*",))
    assert not passed or (key.isascii() and key.lower().startswith("spark.sql.") and key == key.strip())


@given(st.from_regex(r"spark\.[A-Za-z0-9._-]{1,20}", fullmatch=True))
def test_the_case_of_a_key_never_changes_the_answer(key: str) -> None:
    allowed = ("spark.sql.*", "spark.a")
    answers = {bool(refused(spelt, allowed=allowed)) for spelt in (key, key.lower(), "spark" + key[5:].upper())}
    assert len(answers) == 1
