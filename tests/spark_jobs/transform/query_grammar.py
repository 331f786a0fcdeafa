"""Random queries over `source (id INT, name STRING, v DOUBLE)`, of which each subquery has these columns again.

A query has slots. At a chosen one a fragment is put in instead of what the grammar would have made there.
"""

import random
from dataclasses import dataclass, field

INTEGERS = ("0", "1", "-2", "7", "CAST('3' AS INT)")
TEXTS = ("'a'", "'it''s'", "''", "CAST(NULL AS STRING)", "'--'", "'/*'", '"q"')
BLANKS = (" ", " ", " ", "\n", "  ", "\t", " /* SELECT */ ", " -- FROM\n")


@dataclass
class Grammar:
    """Makes one query; the same seed makes the same one."""

    seed: int
    at: int | None = None
    """The slot that is replaced, by its number."""

    relation: str = "source"
    text: str = "name"
    slots: int = 0
    names: int = 0
    kinds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def query(self, depth: int = 2, known: tuple[str, ...] = ()) -> str:
        """A whole query, with WITH before it now and then."""
        if depth > 0 and self._random.random() < 0.4:
            name = self._name("q")
            inner = self.query(depth - 1, known)
            columns = self._one_of("", "(id, name, v)")
            return f"WITH {name}{columns} AS ({inner}) {self._body(depth - 1, (*known, name))}"
        return self._body(depth, known)

    def _body(self, depth: int, known: tuple[str, ...]) -> str:
        query = self._selection(depth, known)
        if self._random.random() < 0.3:
            operator = self._one_of("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "MINUS", "UNION DISTINCT")
            query = f"{query} {operator} {self._selection(depth - 1, known)}"
        tail = self._one_of("", "", " LIMIT 5", " ORDER BY id", " ORDER BY id DESC NULLS LAST LIMIT 3", " SORT BY id")
        return query + tail

    def _selection(self, depth: int, known: tuple[str, ...]) -> str:
        alias = self._name("t")
        relation = f"{self._relation(depth, known)} AS {alias}"
        relation += self._joined(alias, depth, known)
        where = f" WHERE {self._truth(alias, depth, known)}" if self._random.random() < 0.5 else ""
        shape = self._random.randrange(5)
        one, two, three = self._integer(alias, depth), self._string(alias, depth, known), self._double(alias, depth)
        if shape == 0:
            return f"SELECT DISTINCT {one} AS id, {two} AS name, {three} AS v FROM {relation}{where}"
        if shape == 1:
            key = f"{alias}.name"
            aggregates = f"max({one}) AS id, max({two}) AS name, sum({alias}.v) AS v"
            return f"SELECT {aggregates} FROM {relation}{where} GROUP BY {key} HAVING count(*) >= 0"
        if shape == 2:
            window = f"(PARTITION BY {alias}.name ORDER BY {alias}.id)"
            first = f"CAST(row_number() OVER {window} AS INT) AS id"
            return f"SELECT {first}, {two} AS name, {three} AS v FROM {relation}{where}"
        if shape == 3 and not where:
            return f"SELECT {alias}.* FROM {relation}"
        select = self._one_of("SELECT", "SELECT ALL", "SELECT /*+ REPARTITION(2) */")
        return f"{select} {one} AS id, {two} AS name, {three} AS v FROM {relation}{where}"

    def _joined(self, alias: str, depth: int, known: tuple[str, ...]) -> str:
        other = self._name("t")
        match self._random.randrange(6):
            case 0:
                kind = self._one_of("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "FULL OUTER JOIN")
                return f" {kind} {self._relation(depth - 1, known)} AS {other} ON {alias}.id = {other}.id"
            case 1:
                return f" LATERAL VIEW {self._one_of('', 'OUTER ')}explode(array(1, 2)) {other} AS e"
            case 2 if depth > 0:
                return f" CROSS JOIN LATERAL (SELECT {self._string(alias, 0, known)} AS w) AS {other}"
            case _:
                return ""

    def _relation(self, depth: int, known: tuple[str, ...]) -> str:
        default = self._one_of("source", "source", *known)
        if depth > 0 and self._random.random() < 0.5:
            default = f"({self.query(depth - 1, known)})"
        elif self._random.random() < 0.1:
            default = "(VALUES (1, 'a', 1.5D), (2, 'b', 2.5D) AS x(id, name, v))"
        return self._slot("relation", default)

    def _integer(self, alias: str, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.4:
            return self._one_of(f"{alias}.id", *INTEGERS)
        inner = self._integer(alias, depth - 1)
        return self._one_of(
            f"({inner} + 1)",
            f"abs({inner})",
            f"CASE WHEN {inner} > 1 THEN {inner} ELSE 0 END",
            f"coalesce({inner}, 0)",
            f"size(array({inner}, 1))",
            f"aggregate(array({inner}), 0, (a, x) -> a + x)",
            f"transform(array({inner}), x -> x + 1)[0]",
            f"CAST({self._string(alias, 0, ())} AS INT)",
        )

    def _string(self, alias: str, depth: int, known: tuple[str, ...]) -> str:
        return self._slot("text", self._text(alias, depth, known))

    def _text(self, alias: str, depth: int, known: tuple[str, ...]) -> str:
        if depth <= 0 or self._random.random() < 0.3:
            return self._one_of(f"{alias}.name", *TEXTS)
        inner = self._string(alias, depth - 1, known)
        return self._one_of(
            f"upper({inner})",
            f"concat({inner}, 'x')",
            f"{inner} || 'y'",
            f"regexp_replace({inner}, 'a', 'b')",
            f"CASE {inner} WHEN 'a' THEN 'b' ELSE {inner} END",
            f"CAST({self._integer(alias, depth - 1)} AS STRING)",
            f"named_struct('f', {inner}).f",
            f"map('k', {inner})['k']",
            f"element_at(filter(array({inner}), x -> x IS NOT NULL), 1)",
            f"to_json(struct({inner} AS f))",
            f"date_format(timestamp_seconds({self._integer(alias, depth - 1)}), 'yyyy')",
            f"if({inner} IS NULL, 'n', trim(BOTH ' ' FROM {inner}))",
        )

    def _double(self, alias: str, depth: int) -> str:
        return self._one_of(
            f"{alias}.v", "1.5D", f"sqrt(abs({alias}.v))", f"CAST({self._integer(alias, depth)} AS DOUBLE)"
        )

    def _truth(self, alias: str, depth: int, known: tuple[str, ...]) -> str:
        match self._random.randrange(5):
            case 0 if depth > 0:
                return f"{alias}.id {self._one_of('IN', 'NOT IN')} (SELECT id FROM {self._relation(depth - 1, known)})"
            case 1 if depth > 0:
                return f"{self._one_of('', 'NOT ')}EXISTS ({self._selection(depth - 1, known)})"
            case 2 if depth > 0:
                return f"{alias}.id <= (SELECT max(id) FROM {self._relation(depth - 1, known)})"
            case 3:
                return f"{self._string(alias, depth, known)} {self._one_of('LIKE', 'RLIKE', '<=>', '=')} 'a'"
            case _:
                return f"{self._integer(alias, depth)} {self._one_of('>', '<=', '<>')} 1 OR {alias}.name IS NOT NULL"

    def _slot(self, kind: str, default: str) -> str:
        number = self.slots
        self.slots += 1
        self.kinds.append(kind)
        if number != self.at:
            return default
        return self.relation if kind == "relation" else self.text

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _one_of(self, *choices: str) -> str:
        return self._random.choice(choices)


def slot_kinds(seed: int) -> list[str]:
    """The kinds of the slots of a seed's query, in the order in which they are made."""
    grammar = Grammar(seed)
    grammar.query()
    return grammar.kinds


def respelled(sql: str, seed: int) -> str:
    """The same statement with other blanks and comments outside of what is quoted, and other case of its letters."""
    chosen = random.Random(seed)
    if chosen.random() < 0.5:
        return sql
    spelt, quote = [], ""
    for letter in sql:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter == " ":
            spelt.append(chosen.choice(BLANKS))
            continue
        elif letter.isalpha() and chosen.random() < 0.2:
            spelt.append(letter.swapcase())
            continue
        spelt.append(letter)
    return "".join(spelt)
