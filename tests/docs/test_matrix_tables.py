"""The tables of the takeover of other tools' tables, as `tests.matrix.report` prints them."""

from tests.docs.pages import table_rows
from tests.matrix.cases import every_case
from tests.matrix.report import cases

REFUSED = f"refused: SpecDrift: {'a difference with words ' * 10}"


def test_a_long_outcome_is_a_number_in_the_table_and_a_text_below_it() -> None:
    first, second, third, *_ = every_case()

    lines = list(cases({first: REFUSED, second: "exact", third: REFUSED}))

    assert [row[-1] for row in table_rows("\n".join(lines))] == [
        "refused: SpecDrift (1)",
        "exact",
        "refused: SpecDrift (1)",
    ]
    assert lines[-2:] == ["", f"1. {REFUSED.strip()}"]


def test_an_outcome_with_a_bar_stays_in_its_cell() -> None:
    (case, *_) = every_case()

    assert table_rows("\n".join(cases({case: "refused: a|b"})))[0][-1] == "refused: a\\|b"
