"""Which message of its schema a value is: an array of indexes that stands between the id of the schema and the message.

Each number is a varint in zigzag: how many indexes follow, the place of a message at the top of the file, and that of
each further message inside of the one before. A single zero is short for the first message (Confluent's
`MessageIndexes`). So few arrays mean a message that whole bytes are compared, and none is ever taken apart.
"""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

_FIRST = (0,)
_SHORT = b"\0"

_Path = tuple[int, ...]


def arrays_of(file: FileDescriptorProto, message: str) -> tuple[bytes, ...]:
    """Return the arrays that mean a message of the file and no other; none where it is not there.

    Serializers do not agree on whether the entries of a map count, which are messages in a descriptor and none in the
    text. So a message inside of another may be meant by two arrays, and an array may mean two messages: that one is
    none of either.
    """
    meanings: dict[_Path, set[str]] = {}
    scope = f"{file.package}." if file.package else ""
    for name, path in _messages(file.message_type, scope, ((), ())):
        meanings.setdefault(path, set()).add(name)
    paths = [path for path, names in meanings.items() if names == {message}]
    return tuple(array for path in paths for array in _arrays(path))


def first_message(file: FileDescriptorProto) -> str | None:
    """Return the name of the message that comes first."""
    return next((f"{file.package}.{each.name}".lstrip(".") for each in file.message_type), None)


def _messages(messages: Iterable[DescriptorProto], scope: str, at: tuple[_Path, _Path]) -> Iterator[tuple[str, _Path]]:
    """Yield every message with its path without the entries of maps, and with them."""
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
