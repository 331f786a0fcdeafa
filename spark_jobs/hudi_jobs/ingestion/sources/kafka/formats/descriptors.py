"""How many columns the message of a Protobuf descriptor has, told from its bytes before Spark makes any of them.

Spark makes a column wherever a type is named: of messages that hold others twice, which hold others twice, it would
never end. So a descriptor of some hundred bytes can take all memory of the driver.
"""

from collections.abc import Iterator
from dataclasses import dataclass

DEEPEST = 60
"""Messages inside of messages."""

WIDEST = 20_000
"""Fields of a message, counted wherever their message is named."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_ENUM = 14

# Numbers of fields in descriptor.proto.
_SET_FILE = 1
_FILE_PACKAGE, _FILE_MESSAGE = 2, 4
_MESSAGE_NAME, _MESSAGE_FIELD, _MESSAGE_NESTED = 1, 2, 3
_FIELD_TYPE, _FIELD_TYPE_NAME = 5, 6


class NoDescriptor(ValueError):
    """Bytes are no file descriptor set, or one that could not be counted; the text says why."""


@dataclass(frozen=True)
class _Field:
    """What a field says of its type: its number and, of a message or an enumeration, its name."""

    kind: int
    type_name: str


_Messages = dict[str, tuple[_Field, ...]]


def require_countable(descriptor: bytes, message: str) -> None:
    """Raise `NoDescriptor` where a message refers to itself, or has more fields or levels than a table should have.

    One that the descriptor does not have is left to Spark, which says so.
    """
    messages: _Messages = {}
    for file in _parts(descriptor, _SET_FILE):
        package = _text(file, _FILE_PACKAGE)
        for found in _parts(file, _FILE_MESSAGE):
            _add(messages, found, f".{package}" if package else "", 0)
    _count(messages, f".{message}", (), {})


def _add(messages: _Messages, message: bytes, scope: str, depth: int) -> None:
    if depth > DEEPEST:
        raise NoDescriptor(f"declares messages more than {DEEPEST} levels inside of each other")
    name = f"{scope}.{_text(message, _MESSAGE_NAME)}"
    fields = tuple(
        _Field(_number(field, _FIELD_TYPE), _text(field, _FIELD_TYPE_NAME)) for field in _parts(message, _MESSAGE_FIELD)
    )
    # Sets that were joined may hold a file twice.
    if messages.setdefault(name, fields) != fields:
        raise NoDescriptor(f"declares the message {name[1:200]} in two ways")
    for nested in _parts(message, _MESSAGE_NESTED):
        _add(messages, nested, name, depth + 1)


def _count(messages: _Messages, name: str, around: tuple[str, ...], known: dict[str, int]) -> int:
    """Return how many fields a message has, with those of the messages in it."""
    if name in known:
        return known[name]
    if name in around:
        raise NoDescriptor(f"has the message {name[1:200]}, which refers to itself; a table has no columns without end")
    if len(around) > DEEPEST:
        raise NoDescriptor(f"has messages more than {DEEPEST} levels inside of each other")
    fields = 0
    for field in messages.get(name, ()):
        fields += 1
        if field.type_name and field.kind != _ENUM:
            fields += _count(messages, _absolute(field.type_name), (*around, name), known)
        if fields > WIDEST:
            raise NoDescriptor(f"has more than {WIDEST:,} fields, counted wherever their message is named")
    known[name] = fields
    return fields


def _absolute(name: str) -> str:
    """Return the name of a type; protoc writes whole names, and which a part of one means depends on its place."""
    if not name.startswith("."):
        raise NoDescriptor(f"names the type {name[:200]} by a part of its name, as protoc does not")
    return name


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    return (value for found, value in _fields(message) if found == number and isinstance(value, bytes))


def _text(message: bytes, number: int) -> str:
    # As everywhere in Protobuf, the last one counts.
    return [b"", *_parts(message, number)][-1].decode(errors="replace")


def _number(message: bytes, number: int) -> int:
    return [0, *(value for found, value in _fields(message) if found == number and isinstance(value, int))][-1]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field, as they are written one after another."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in {_FIXED64, _FIXED32}:
            size = 8 if wire == _FIXED64 else 4
        else:
            raise NoDescriptor("is no file descriptor set")
        if at + size > len(message):
            raise NoDescriptor("is no file descriptor set")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise NoDescriptor("is no file descriptor set")
