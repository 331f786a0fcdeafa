"""Prints progress on the terminal, and runs programs with their output in a log file."""

import contextlib
import fcntl
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from localcluster.settings import LOGS, DevError

HEARTBEAT_SECONDS = 15.0
STARTED = time.monotonic()


def interrupt_on_termination() -> None:
    """Treat SIGTERM like Ctrl-C, so that started programs end as well."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


@contextlib.contextmanager
def alone(lock: Path, *, meanwhile: str) -> Iterator[None]:
    """Hold a lock file during the context; print `meanwhile` while another program holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{meanwhile}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    """Print one line of progress with the seconds since the program began."""
    print(f"[{time.monotonic() - STARTED:6.1f} s] {text}", flush=True)


def last_line(output: str) -> str:
    """Return the last non-empty line of a program's output, cut to a terminal's width."""
    lines = [line for line in output.splitlines() if line.strip()]
    return f"last line: {lines[-1].strip()[:110] if lines else '(nothing yet)'}"


def run_logged(
    command: Sequence[str],
    *,
    log_name: str,
    what: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[str], str] = last_line,
) -> None:
    """Run a program with its output in a log file, and print now and then what `progress` makes of the output.

    Raises DevError with the end of the log when the program fails.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    began = time.monotonic()
    with log.open("ab") as output:
        output.write(f"\n$ {' '.join(command)}\n".encode())
        output.flush()
        start = output.tell()
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while True:
                try:
                    process.wait(HEARTBEAT_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    told = progress(log.read_bytes()[start:].decode(errors="replace"))
                    say(f"  {what}: {time.monotonic() - began:.0f} s so far, {told}")
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        raise DevError(f"{what} failed (exit code {process.returncode}). The end of {log}:\n{end_of(log, lines=25)}")


def output_of(command: Sequence[str], *, given: str | None = None, timeout: float = 60) -> str:
    """Run a short program and return its output; raise DevError with its error output when it fails."""
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        complaint = (done.stderr or done.stdout).strip()
        raise DevError(f"`{' '.join(command)}` failed (exit code {done.returncode}): {complaint}")
    return done.stdout


def succeeds(command: Sequence[str], *, timeout: float = 30) -> bool:
    """Tell whether a program exits with 0; False when it hangs or is missing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return False
    return done.returncode == 0


def end_of(log: Path, *, lines: int) -> str:
    """Return the last lines of a log file."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log was written)"


def stop_with(error: DevError) -> None:
    """Print the error and leave with exit code 1."""
    say(f"FAILED: {error}")
    sys.exit(1)
