"""Random queries, with and without something hostile at a random place of them; `HUDI_JOBS_TRIALS=all` runs thousands.

What is judged is what happened outside, and not what the parser made of it.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.spark_jobs.continuous.watched import Watch, watching
from tests.spark_jobs.transform.query_grammar import Grammar, respelled, slot_kinds
from tests.spark_jobs.trials import ALL

pytestmark = pytest.mark.spark

HOSTILE = 3_000 if ALL else 150
HARMLESS = 500 if ALL else 30
RUN = 4 if ALL else 6


@pytest.fixture(scope="module")
def watch(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    with watching(spark, tmp_path_factory.mktemp("watched")) as watch:
        yield watch


def hostile_query(watch: Watch, seed: int) -> str:
    """A random query with something hostile in, before or instead of it."""
    chosen, places = random.Random(seed), watch.places
    kind = chosen.choices(("inside", "before", "instead"), (8, 2, 1))[0]
    if kind == "instead":
        return respelled(chosen.choice(places.statements()), seed)
    if kind == "before":
        return chosen.choice(places.before()) + respelled(Grammar(seed).query(), seed)
    relation, text = chosen.choice(places.relations()), chosen.choice(places.expressions())
    slots = list(enumerate(slot_kinds(seed)))
    chosen.shuffle(slots)
    for at, kind in slots:
        query = Grammar(seed, at=at, relation=relation, text=text).query()
        # The grammar throws away some of what it makes.
        if (relation if kind == "relation" else text) in query:
            return respelled(query, seed)
    raise AssertionError("a query has at least the slot of its relation")


def test_nothing_hostile_at_any_place_of_a_query_is_done(watch: Watch) -> None:
    walls: Counter[str] = Counter()
    for seed in range(HOSTILE):
        sql = hostile_query(watch, seed)
        said = watch.require_refused(sql)
        walls["syntax" if "SYNTAX_ERROR" in said else "wall"] += 1
    # A statement that is not SQL proves nothing.
    assert walls["wall"] > 0.9 * HOSTILE, walls


def test_the_same_queries_without_anything_hostile_are_accepted(watch: Watch) -> None:
    for seed in range(HARMLESS):
        sql = respelled(Grammar(seed).query(), seed)
        assert watch.accepts(sql), (seed, sql)
        if seed % RUN == 0:
            said = watch.require_untouched(sql)
            assert said.startswith("["), (seed, sql, said)
