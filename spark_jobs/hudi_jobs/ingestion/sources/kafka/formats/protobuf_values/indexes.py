"""Identifies a value's message in its schema by the array of indexes between schema id and message.

Each number is a zigzag varint: the count of indexes, the position of a message at the top of the file, and the position
of each further message inside the previous message. A single zero is short for the first message (Confluent's
`MessageIndexes`). Few arrays mean a message, so whole bytes are compared, and no array is ever parsed.
"""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

_FIRST = (0,)
_SHORT = b"\0"

_Path = tuple[int, ...]


def arrays_of(file: FileDescriptorProto, message: str) -> tuple[bytes, ...]:
    """Return the arrays that mean only this message of the file; empty if the message is missing.

    Serializers disagree on whether map entries count, which are messages in a descriptor but not in the text. So a
    nested message may have two arrays, and an array may mean two messages: such an ambiguous array counts for neither.
    """
    meanings: dict[_Path, set[str]] = {}
    scope = f"{file.package}." if file.package else ""
    for name, path in _messages(file.message_type, scope, ((), ())):
        meanings.setdefault(path, set()).add(name)
    paths = [path for path, names in meanings.items() if names == {message}]
    return tuple(array for path in paths for array in _arrays(path))


def first_message(file: FileDescriptorProto) -> str | None:
    """Return the name of the first message."""
    return next((f"{file.package}.{each.name}".lstrip(".") for each in file.message_type), None)


def _messages(messages: Iterable[DescriptorProto], scope: str, at: tuple[_Path, _Path]) -> Iterator[tuple[str, _Path]]:
    """Yield every message with its path, without and with map entries."""
    among_declared = 0
    for among_all, message in enumerate(messages):
        if message.options.map_entry:
            continue
        name, paths = f"{scope}{message.name}", ((*at[0], among_declared), (*at[1], among_all))
        yield from ((name, path) for path in paths)
        yield from _messages(message.nested_type, f"{name}.", paths)
        among_declared += 1


def _arrays(path: _Path) -> tuple[bytes, ...]:
    whole = b"".join(_varint(2 * number) for number in (len(path), *path))
    return (_SHORT, whole) if path == _FIRST else (whole,)


def _varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + _varint(number >> 7)
