"""A PostgreSQL table that changes at random, with a record of every state of each key."""

import random
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from toolkit.streams.postgres import Postgres

KEYS = 300
"""Few enough keys that most batches change rows, delete some and insert others again."""

Rows = dict[int, str]
"""The value of each existing key."""

ABSENT = None

Change = tuple[str, dict[int, str | None]]
"""A statement, and the state of each key after it."""

Kind = Callable[[list[int], list[int], str], Change | None]
"""Makes a change from the free keys, the existing keys and a new value; None when it is impossible."""


class Workload:
    """Runs inserts, updates, deletes and key changes in a thread, each in its own transaction.

    No transaction changes a key twice, and no value is used twice, so that a value identifies a state of its key.
    `history` holds the states of each key in their order, beginning with none.
    """

    def __init__(self, database: Postgres, table: str, seed: int, *, pause: float = 0.05) -> None:
        self.history: dict[int, list[str | None]] = {key: [ABSENT] for key in range(KEYS)}
        self.statements = 0
        self._database, self._table, self._pause = database, table, pause
        self._random = random.Random(seed)
        self._rows: Rows = {}
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def create(self) -> None:
        """Create the table with rows for a snapshot."""
        self._database.execute(f"CREATE TABLE {self._table} (id BIGINT PRIMARY KEY, value TEXT)")
        with self._database.connect() as connection:
            for _ in range(KEYS // 3):
                self._change(connection, self._insert)

    def start(self) -> None:
        """Start the changes."""
        self._thread.start()

    def end(self) -> None:
        """Change one more row to the value `last`, then stop; raise an error of the changes."""
        self._ending.set()
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    @property
    def last(self) -> str:
        """The value of the newest change with a value, after the end."""
        return f"v{self.statements - 1}"

    @property
    def rows(self) -> Rows:
        """The rows in the database."""
        found = self._database.rows(f"SELECT id, value FROM {self._table}")
        assert dict(found) == self._rows
        return dict(found)

    def _run(self) -> None:
        kinds: tuple[Kind, ...] = (self._insert, self._update, self._update, self._update, self._delete, self._move)
        try:
            with self._database.connect(autocommit=True) as connection:
                while not self._ending.wait(self._random.uniform(0, 2 * self._pause)):
                    self._change(connection, self._random.choice(kinds))
                self._change(connection, self._update)
        except Exception as error:  # noqa: BLE001 - raised again where it ends
            self._failure = error

    def _change(self, connection: "psycopg.Connection[tuple[Any, ...]]", kind: Kind) -> None:
        free = [key for key in range(KEYS) if key not in self._rows]
        made = kind(free, sorted(self._rows), f"v{self.statements}")
        if made is None:
            return
        sql, changes = made
        connection.execute(sql.format(table=self._table).encode())
        self.statements += 1
        for key, value in changes.items():
            self.history[key].append(value)
            if value is ABSENT:
                del self._rows[key]
            else:
                self._rows[key] = value

    def _insert(self, free: list[int], _: list[int], value: str) -> Change | None:
        if not free:
            return None
        key = self._random.choice(free)
        return f"INSERT INTO {{table}} VALUES ({key}, '{value}')", {key: value}

    def _update(self, _: list[int], there: list[int], value: str) -> Change | None:
        if not there:
            return None
        key = self._random.choice(there)
        return f"UPDATE {{table}} SET value = '{value}' WHERE id = {key}", {key: value}

    def _delete(self, _: list[int], there: list[int], __: str) -> Change | None:
        if not there:
            return None
        key = self._random.choice(there)
        return f"DELETE FROM {{table}} WHERE id = {key}", {key: ABSENT}

    def _move(self, free: list[int], there: list[int], value: str) -> Change | None:
        """Change a key and the value of its row."""
        if not free or not there:
            return None
        old, new = self._random.choice(there), self._random.choice(free)
        sql = f"UPDATE {{table}} SET id = {new}, value = '{value}' WHERE id = {old}"
        return sql, {old: ABSENT, new: value}
