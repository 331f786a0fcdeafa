"""Has Hudi 1.2.0 close the log files that it reads single blocks of: `close_inline_reads.py LIBRARY JAR`.

`InLineFsDataInputStream` reads a block of a log file, such as one of the metadata table, as if it was a file. To close
it closes an `OffsetAdjustingStream`, which has no `close` and so leaves the log file's stream open (apache/hudi#19936,
repaired after 1.2.0). On S3 that keeps one connection for each block that was looked into. No timeout and no garbage
collection gives it back, and in the end the pool of the process has none left.

The class gets that method in JAR, which goes before all others, and is otherwise as Hudi's own jar has it.
"""

import hashlib
import struct
import sys
import zipfile
from pathlib import Path

NAME = "org/apache/hudi/hadoop/fs/inline/InLineFsDataInputStream$OffsetAdjustingStream.class"
DIGEST = "06168ff284d51e6b711d8825938a2b25eb36ee42f59a7061da9077b8137913a5"
"""SHA-256 of the class in Hudi 1.2.0, about which the numbers below are; `javap -v` shows them."""

CONSTANTS = 76
"""Constants of the class are numbered below this one."""

END_OF_CONSTANTS, METHODS = 994, 1024
"""Where in the class the constants end, and where it says how many methods there are, before the first of them."""

OUTER, STREAM = 2, 59
"""Numbers of the field `outer`, the log file's stream, and of its class, FSDataInputStream."""

TEXT, METHOD, NAME_AND_TYPE = 1, 10, 12
PUBLIC = 1


def main(library: str, jar: str) -> None:
    """Take the class from the one jar of Hudi in the library, and add it to the jar with the method."""
    (bundle,) = Path(library).glob("hudi-*.jar")
    with zipfile.ZipFile(bundle) as archive:
        content = archive.read(NAME)
    if hashlib.sha256(content).hexdigest() != DIGEST:
        sys.exit(f"{bundle.name} has another {NAME}. Where it has a method `close`, this program is no longer needed.")
    with zipfile.ZipFile(jar, "a") as archive:
        archive.writestr(NAME, with_close(content))


def with_close(content: bytes) -> bytes:
    """Return the class with `public void close() { outer.close(); }` as its first method."""
    close, signature, code, name_and_type, close_outer = range(CONSTANTS, CONSTANTS + 5)
    constants = (
        *(struct.pack(">BH", TEXT, len(text)) + text for text in (b"close", b"()V", b"Code")),
        struct.pack(">BHH", NAME_AND_TYPE, close, signature),
        struct.pack(">BHH", METHOD, STREAM, name_and_type),
    )
    # aload_0, getfield outer, invokevirtual close, return: with one place on the stack and one variable.
    steps = struct.pack(">BBHBHB", 0x2A, 0xB4, OUTER, 0xB6, close_outer, 0xB1)
    body = struct.pack(">HHI", 1, 1, len(steps)) + steps + struct.pack(">HH", 0, 0)
    method = struct.pack(">HHHHHI", PUBLIC, close, signature, 1, code, len(body)) + body
    return b"".join(
        (
            content[:8],
            struct.pack(">H", CONSTANTS + len(constants)),
            content[10:END_OF_CONSTANTS],
            *constants,
            content[END_OF_CONSTANTS:METHODS],
            struct.pack(">H", struct.unpack_from(">H", content, METHODS)[0] + 1),
            method,
            content[METHODS + 2 :],
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
