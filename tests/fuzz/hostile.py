"""Hostile values, and documents and files that are changed at random; the same seed makes the same."""

from __future__ import annotations

import copy
import json
import os
import zlib
from pathlib import Path
from random import Random
from typing import Any

STRINGS = (
    "",
    " ",
    "0",
    "-1",
    "true",
    "9" * 5_000,
    "1e999",
    "٣",
    "\x00\x1b[2J",
    "\ud800".encode("utf-8", "replace").decode(),
    "x" * 300_000,
    "(" * 2_000,
    "[" * 100_000,
    '{"a":' * 5_000,
    "(a+)+$",
    "{a,b}" * 200,
    "**/" * 500,
    "*" * 4_000,
    "../../../team-a/flights",
    "s3a://lake/team-a/flights",
    "s3a://lake/team-a",
    "file:///etc/passwd",
    "%2e%2e/",
    "{namespace}",
    "20260310115900000",
    "99991231235959999",
    "0" * 17,
    "2026-03-10T11:59:30Z",
    "9999-12-31T23:59:59Z",
    "0000-00-00T00:00:00Z",
    "1h",
    "1" * 400 + "h",
    "* * * * *",
    "*/1 " * 5,
    "Deletion",
    "Succeeded",
)

VALUES: tuple[Any, ...] = (None, True, False, 0, -1, 2**31, 2**63, -(2**63), 10**300, 1e308, [], {}, [[]], [{}] * 500)


def value(dice: Random) -> Any:
    """Return something that does not belong where it will be put."""
    return dice.choice(STRINGS) if dice.random() < 0.6 else copy.deepcopy(dice.choice(VALUES))


def changed(document: Any, dice: Random, *, times: int = 1, typed: bool = False) -> Any:
    """Return a copy of a JSON document in which as many places as said hold something else, or nothing.

    `typed` leaves everything of the type that it has, as the API server does for its own kinds.
    """
    document = copy.deepcopy(document)
    for _ in range(times):
        places = list(_places(document))
        if not places:
            return document
        holder, key = dice.choice(places)
        act = dice.random()
        if typed:
            _change_like(holder, key, dice)
            continue
        if act < 0.15:
            del holder[key]
        elif act < 0.3 and isinstance(holder, dict):
            holder[dice.choice(STRINGS)[:300]] = value(dice)
        elif act < 0.4 and isinstance(holder, list):
            holder.extend(copy.deepcopy(holder) * 20)
        elif act < 0.5:
            holder[key] = copy.deepcopy(dice.choice(places)[0])
        else:
            holder[key] = value(dice)
    return document


REQUIRED = frozenset({"metadata", "spec", "template", "containers", "name", "type", "status", "terminated", "state"})


def _change_like(holder: Any, key: Any, dice: Random) -> None:
    """Drop what may be missing, empty what may be empty, and put another text or number for a text or number."""
    old = holder[key]
    if isinstance(old, dict | list):
        if isinstance(key, str) and key not in REQUIRED:
            holder[key] = type(old)()
    elif isinstance(holder, dict) and key not in REQUIRED and dice.random() < 0.2:
        del holder[key]
    elif fitting := [one for one in (*STRINGS, *VALUES) if type(one) is type(old)]:
        holder[key] = dice.choice(fitting)


def _places(document: Any) -> Any:
    if isinstance(document, dict):
        for key in list(document):
            yield document, key
            yield from _places(document[key])
    elif isinstance(document, list):
        for index, item in enumerate(document):
            yield document, index
            yield from _places(item)


def changed_text(text: str, dice: Random) -> str:
    """Return a JSON text that was changed in a place, cut, or replaced."""
    act = dice.random()
    if act < 0.5:
        try:
            return json.dumps(changed(json.loads(text), dice))
        except ValueError:
            return text
    if act < 0.7:
        return text[: dice.randrange(len(text) + 1)]
    return str(dice.choice(STRINGS))


def spoil(folder: Path, dice: Random) -> None:
    """Change one file below a table's `.hoodie`, or add one that nobody has written before."""
    files = sorted(path for path in (folder / ".hoodie").rglob("*") if path.is_file())
    chosen = dice.choice(files)
    act = dice.random()
    if act < 0.25:
        chosen.write_bytes(_flipped(chosen.read_bytes(), dice))
    elif act < 0.4:
        content = chosen.read_bytes()
        chosen.write_bytes(content[: dice.randrange(len(content) + 1)])
    elif act < 0.55:
        chosen.write_bytes(_large(dice))
    elif act < 0.65:
        chosen.unlink()
    elif act < 0.75:
        properties = folder / ".hoodie" / "hoodie.properties"
        with properties.open("a") as file:
            file.write(f"\n{dice.choice(('hoodie.table.version', 'hoodie.timeline.path', 'hoodie.table.type', 'x'))}=")
            file.write(str(value(dice))[:100_000] + "\n")
    else:
        name = _name(chosen.name, dice)
        place = chosen.parent / name
        if not place.exists():
            place.write_bytes(chosen.read_bytes())


def _flipped(content: bytes, dice: Random) -> bytes:
    flipped = bytearray(content)
    for _ in range(min(len(flipped), 1 + int(dice.expovariate(0.2)))):
        flipped[dice.randrange(len(flipped))] = dice.randrange(256)
    return bytes(flipped)


def _large(dice: Random) -> bytes:
    megabyte = 1 << 20
    return dice.choice(
        (
            lambda: b"\\u0041" * (megabyte // 2),
            lambda: b"a=b\n" * megabyte,
            lambda: b'{"partitionToWriteStats":{"p":[' + b'{"path":"x"},' * 200_000 + b"{}]}}",
            lambda: b"[" * megabyte,
            lambda: os.urandom(64),
            lambda: b"Obj\x01" + b"\xff" * 4096,
            lambda: zlib.compress(b"\0" * (64 * megabyte)),
        )
    )()


def _name(name: str, dice: Random) -> str:
    stem, _, rest = name.partition(".")
    act = dice.random()
    if act < 0.3:
        return f"{dice.randrange(10**16, 10**17)}.{rest}"
    if act < 0.5:
        return f"{stem}.{dice.choice(('commit', 'deltacommit', 'clean.inflight', 'rollback.requested', 'x'))}"
    if act < 0.7:
        return f"{'9' * 200}.{rest}"[:250]
    return f"{stem}_{dice.randrange(10**16, 10**17)}.{rest}"[:250]
