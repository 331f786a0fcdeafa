"""Checks sets of Protobuf descriptors before Spark makes columns of them, and finds a value's message in its schema.

Spark makes a column wherever a type is named, and never ends with chains of messages of which each holds the next
message twice. The same holds for chains of files that import the next file twice, because Spark builds each import
again. So a descriptor of some hundred bytes can take all of the driver's memory.

An array of indexes names the message of a value. Each number in it is a zigzag varint: the count of indexes, the
position of a message at the top of the file, and the position of each further message inside the previous message. A
single zero is short for the first message (Confluent's `MessageIndexes`). Few arrays mean a message, so whole bytes are
compared, and no array is ever parsed.
"""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

DEEPEST = 60
"""The most levels of nested messages, and of imports."""

WIDEST = 20_000
"""The most fields of a message, counted wherever it is named."""

MOST_BUILT = 20_000_000
"""The most bytes of files, counted at each import, plus `_FILE_COST` each."""

LARGEST = 1024 * 1024
"""The most bytes of a set."""

ROW = "hudi_jobs.Row"
"""Full name of the message that Spark reads values with."""

_FILE_COST = 1000
_READ = frozenset({"", "proto2", "proto3"})


class NoDescriptor(ValueError):
    """The bytes are no usable file descriptor set; the text starts with a verb."""


def parsed(descriptor: bytes) -> FileDescriptorSet:
    """Parse a descriptor set."""
    if not descriptor or len(descriptor) > LARGEST:
        raise NoDescriptor(f"has {len(descriptor):,} bytes; it must have between 1 and {LARGEST:,}")
    try:
        return FileDescriptorSet.FromString(descriptor)
    except DecodeError as error:
        raise NoDescriptor("is not a file descriptor set") from error


def row_descriptor(files: FileDescriptorSet, message: str) -> bytes:
    """Return the set with the message copied as `ROW`, or raise `NoDescriptor`.

    Spark finds only messages at the top of a file, and matches partial names too (`ProtobufUtils.buildDescriptor`).
    Referenced types stay in place, because descriptors use full names.
    """
    messages: _Messages = {}
    for file in files.file:
        for found in file.message_type:
            _add(messages, file, found, f".{file.package}" if file.package else "", 0)
    if f".{message}" not in messages:
        raise NoDescriptor(f"has no message {message[:200]}")
    _count(messages, f".{message}", (), {})
    result = FileDescriptorSet(file=[*files.file, _row_file(*messages[f".{message}"])])
    _require_buildable(result)
    return result.SerializeToString()


_Messages = dict[str, tuple[FileDescriptorProto, DescriptorProto]]


def _row_file(file: FileDescriptorProto, message: DescriptorProto) -> FileDescriptorProto:
    package, _, name = ROW.rpartition(".")
    row = DescriptorProto(name=name, field=message.field, oneof_decl=message.oneof_decl)
    row.extension_range.extend(message.extension_range)
    return FileDescriptorProto(
        name=f"{package}/row.proto",
        package=package,
        syntax=file.syntax,
        dependency=dict.fromkeys([file.name, *file.dependency]),
        message_type=[row],
    )


def _require_buildable(files: FileDescriptorSet) -> None:
    """Raise `NoDescriptor` if imports are circular, or so frequent that Spark would never end."""
    for file in files.file:
        if file.syntax not in _READ:
            raise NoDescriptor(
                f"has the file {file.name[:200]}, which uses an edition; only proto2 and proto3 are supported"
            )
    by_name = {file.name: file for file in files.file}
    known: dict[str, int] = {}
    if sum(_built(by_name, name, (), known) for name in by_name) > MOST_BUILT:
        raise NoDescriptor("has files that are imported too often; import them once each")


def _built(files: dict[str, FileDescriptorProto], name: str, around: tuple[str, ...], known: dict[str, int]) -> int:
    """Return the bytes that Spark processes to build a file with all its imports."""
    if name in known or name not in files:
        return known.get(name, 0)
    if name in around:
        raise NoDescriptor(f"has the file {name[:200]}, which imports itself")
    if len(around) > DEEPEST:
        raise NoDescriptor(f"has files that import others more than {DEEPEST} levels deep")
    imported = sum(_built(files, each, (*around, name), known) for each in files[name].dependency)
    known[name] = files[name].ByteSize() + _FILE_COST + imported
    return known[name]


def _add(messages: _Messages, file: FileDescriptorProto, message: DescriptorProto, scope: str, depth: int) -> None:
    if depth > DEEPEST:
        raise NoDescriptor(f"declares messages nested more than {DEEPEST} levels deep")
    name = f"{scope}.{message.name}"
    # A joined set may hold a file twice.
    if messages.setdefault(name, (file, message))[1] != message:
        raise NoDescriptor(f"declares the message {name[1:200]} twice, and differently")
    for nested in message.nested_type:
        _add(messages, file, nested, name, depth + 1)


def _count(messages: _Messages, name: str, around: tuple[str, ...], known: dict[str, int]) -> int:
    """Return a message's number of fields, including nested messages."""
    if name in known:
        return known[name]
    if name in around:
        raise NoDescriptor(
            f"has the message {name[1:200]}, which refers to itself; a table cannot have recursive columns"
        )
    if len(around) > DEEPEST:
        raise NoDescriptor(f"has messages nested more than {DEEPEST} levels deep")
    fields = 0
    for field in messages[name][1].field if name in messages else ():
        fields += 1
        if _type_name(field) and field.type != FieldDescriptorProto.TYPE_ENUM:
            fields += _count(messages, field.type_name, (*around, name), known)
        if fields > WIDEST:
            raise NoDescriptor(f"has more than {WIDEST:,} fields, counting every use of a message")
    known[name] = fields
    return fields


def _type_name(field: FieldDescriptorProto) -> str:
    """Return the full name of a field's type, if any; a partial name's meaning depends on its place."""
    if field.type_name and not field.type_name.startswith("."):
        raise NoDescriptor(f"names the type {field.type_name[:200]} by a part of its name, which protoc never does")
    return field.type_name


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
