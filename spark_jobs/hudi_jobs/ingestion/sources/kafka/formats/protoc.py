"""The process that compiles schema texts: `protoc.py <folder> <file>` writes `<folder>.desc`.

Schemas are untrusted, and protoc expects trusted input: here it runs in its own process with bounded time, memory and
output. It finds only files in the folder and its own: it opens no import that begins with a slash or has `..` in it.
"""

import resource
import sys
from importlib.resources import files

from grpc_tools import protoc

_BOUNDS = {
    resource.RLIMIT_AS: 1024**3,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 10,
    resource.RLIMIT_FSIZE: 4 * 1024**2,
}


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    for bounded, at_most in _BOUNDS.items():
        _bound(bounded, at_most)
    folder, file = sys.argv[1:]
    # Its own files come first, so that a registry's file cannot replace them.
    paths = [f"-I{files('grpc_tools') / '_proto'}", f"-I{folder}"]
    sys.exit(protoc.main(["protoc", *paths, "--include_imports", f"--descriptor_set_out={folder}.desc", file]))
