"""What is read of a table that follows a database, held against every state that each key of the database was in."""

from __future__ import annotations

from collections.abc import Iterable


class Observed:
    """What is read of a table instant by instant, held against the history of the database."""

    def __init__(self, history: dict[int, list[str | None]]) -> None:
        self._history = history
        self._reached = dict.fromkeys(history, 0)
        self.unknown: list[str] = []
        """States that no key of the database was in."""
        self.back: list[str] = []
        """States that were over by an instant of before."""

    def look(self, instant: str, rows: Iterable[tuple[int, str]]) -> None:
        """Take in the rows of the next instant."""
        found: dict[int, str] = {}
        for key, value in rows:
            if key in found or key not in self._history:
                self.unknown.append(f"{instant}: {key} is {value}, and {found.get(key, 'never was')}")
            found[key] = value
        for key, states in self._history.items():
            state = found.get(key)
            if state not in states:
                self.unknown.append(f"{instant}: {key} is {state}")
            elif state in states[self._reached[key] :]:
                self._reached[key] = states.index(state, self._reached[key])
            else:
                self.back.append(f"{instant}: {key} is {state} after {states[self._reached[key]]}")
