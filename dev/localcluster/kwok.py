"""kwok, which simulates nodes and pods for load tests; built on first use."""

from pathlib import Path

from localcluster.console import alone, run_logged, say
from localcluster.settings import CACHE
from localcluster.toolchain import find_go, go_environment

KWOK_VERSION = "0.7.0"


def ensure_kwok() -> Path:
    """Build kwok unless it is in the cache, and return its path."""
    folder = CACHE / "tools" / f"kwok-{KWOK_VERSION}"
    program = folder / "kwok"
    with alone(CACHE / "kwok.lock", meanwhile="another program is building kwok"):
        if not program.exists():
            say(f"building kwok from Go modules into {folder}; it takes a few minutes once")
            run_logged(
                [find_go(), "install", "-trimpath", "-ldflags=-s -w", f"sigs.k8s.io/kwok/cmd/kwok@v{KWOK_VERSION}"],
                log_name="build-tools",
                what="building kwok",
                # Outside of any module, kwok's own requirements apply.
                cwd=CACHE,
                environment=go_environment() | {"GOBIN": str(folder)},
            )
    return program
