"""Runs the checks and tests in stages and counts them: `run_tests.py [check] [unit] [integration] [cluster] [faults]`.

The programs of the local cluster and the images take longest to build, so they are built while the stages that need
neither run. All stages run even after one has failed; the last line counts what passed and failed. The stage `faults`
sweeps every fault point where `cluster` draws a few, takes long, and only runs when it is asked for.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from toolkit.control_plane import running_control_plane

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
REPORTS = ROOT / ".dev" / "test-reports"
STAGES = ("check", "unit", "integration", "cluster")
ON_REQUEST = ("faults",)
STARTED = time.monotonic()
CURRENT = os.environ.get("CLUSTER") == "current"

Environment = Mapping[str, str]

CHECKS: dict[str, Sequence[str]] = {
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "lint": ("ruff", "check", "--quiet", "."),
    "types": ("mypy",),
    "layers": ("lint-imports",),
    "crds": ("python", "-m", "hudi_operator.api.crd", "--check"),
    "reference": ("python", "-m", "hudi_operator.cli.reference", "--check"),
}
PYTEST: dict[str, Sequence[str]] = {
    "unit": ("-m", "not spark and not s3 and not chart and not cluster and not e2e"),
    "integration": ("-m", "(spark or s3) and not drivers and not cluster and not e2e"),
    "drivers": ("-m", "drivers"),
    "api": ("-m", "(chart or cluster) and not e2e"),
    "e2e": ("-m", "e2e"),
    "faults": ("-s", "-m", "cluster", "tests/faults"),
}


@dataclass
class Count:
    """What passed, failed and was skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Count") -> None:
        """Add another count."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def say(text: str) -> None:
    """Print one line of progress with the seconds since the program began."""
    print(f"[{time.monotonic() - STARTED:6.0f} s] {text}", flush=True)


def run(command: Sequence[str], *, environment: Environment | None = None, log: Path | None = None) -> int:
    """Run a program with its output on the terminal, or in a log, and return its exit code."""
    with log.open("wb") if log else nullcontext() as output:
        variables = {**os.environ, **(environment or {})}
        return subprocess.run(command, cwd=ROOT, env=variables, stdout=output, stderr=output, check=False).returncode


def run_checks() -> Count:
    """Run the checks that need only the code."""
    count = Count()
    for name, command in CHECKS.items():
        done = subprocess.run(
            (str(BIN / command[0]), *command[1:]), cwd=ROOT, capture_output=True, text=True, check=False
        )
        say(f"check {name}: {'passed' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            print(done.stdout[-6000:] + done.stderr[-6000:], flush=True)
        count.add(Count(passed=done.returncode == 0, failed=done.returncode != 0))
    return count


def run_pytest(stage: str, *, environment: Environment | None = None, log: Path | None = None) -> Count:
    """Run the tests of one stage and count them from the report; a run without a report is one failure."""
    report = REPORTS / f"{stage}.xml"
    report.unlink(missing_ok=True)
    command = (str(BIN / "python"), "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}", *PYTEST[stage])
    code = run(command, environment=environment, log=log)
    count = read_report(report)
    if code != 0 and count.failed == 0:
        say(f"pytest ended with exit code {code} and no failed test")
        count.failed = 1
    return count


def run_both(stage: str, beside: str, *, environments: tuple[Environment, Environment] = ({}, {})) -> Count:
    """Run two groups of tests at the same time; what the second prints is shown when both have ended."""
    log = REPORTS / f"{beside}.log"
    say(f"the tests of {beside} run beside those of {stage}; see {log}")
    with ThreadPoolExecutor(max_workers=1) as executor:
        other = executor.submit(run_pytest, beside, environment=environments[1], log=log)
        count = run_pytest(stage, environment=environments[0])
        count.add(other.result())
    print(log.read_text(errors="replace"), flush=True)
    return count


def read_report(report: Path) -> Count:
    """Count the test cases of a JUnit report."""
    if not report.exists():
        return Count()
    count = Count()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        count.add(Count(passed=max(total - failed - skipped, 0), failed=failed, skipped=skipped))
    return count


class Preparation(threading.Thread):
    """Builds the programs of the local cluster and the images, at low priority, while other stages run."""

    STEPS = (("dev/cluster", "tools"), ("dev/cluster", "up"), ("dev/images",), ("dev/cluster", "down"))

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.log = ROOT / ".dev" / "logs" / "prepare.log"

    def run(self) -> None:
        """Build; what fails here fails again, and visibly, when the cluster is started for the tests."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as output:
            for step in self.STEPS:
                command = ("nice", "-n", "5", *step)
                if subprocess.run(command, cwd=ROOT, stdout=output, stderr=output, check=False).returncode != 0:
                    return


def run_cluster_tests(stage: str, preparation: Preparation | None) -> Count:
    """Start an empty cluster, load the images that are needed, run the tests, and stop it whatever happens."""
    if preparation is not None and preparation.is_alive():
        say(f"waiting for the cluster's programs and images to be built; see {preparation.log}")
        preparation.join()
    try:
        if run(("dev/cluster", "up", "--fresh")) or (stage == "cluster" and run(("dev/images",))):
            say("the cluster could not be started")
            return Count(failed=1)
        kubeconfig = os.environ.get("KUBECONFIG", "") if CURRENT else ""
        cluster = {"KUBECONFIG": kubeconfig or str(ROOT / ".dev" / "kubeconfig")}
        if stage == "faults":
            return run_pytest(stage, environment=cluster | {"FAULTS": "full"})
        return run_api_and_e2e(cluster)
    finally:
        if os.environ.get("KEEP_CLUSTER") != "1":
            run(("dev/cluster", "down"))


def run_api_and_e2e(cluster: Environment) -> Count:
    """Run the tests that need only an API server beside those that need the cluster.

    They have a control plane of their own, since the operator that is installed in the cluster would act on their
    tables. Where only the given cluster is to be used, they come first.
    """
    if CURRENT:
        count = run_pytest("api", environment=cluster)
        count.add(run_pytest("e2e", environment=cluster))
        return count
    folder = ROOT / ".dev" / "control-plane"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with running_control_plane(folder) as plane:
        return run_both("e2e", "api", environments=(cluster, {"KUBECONFIG": str(plane.kubeconfig)}))


def main() -> int:
    """Run the stages that were asked for, or all."""
    wanted = [stage for stage in (*STAGES, *ON_REQUEST) if stage in sys.argv[1:]] or list(STAGES)
    REPORTS.mkdir(parents=True, exist_ok=True)
    preparation: Preparation | None = None
    if "cluster" in wanted and len(wanted) > 1 and not CURRENT:
        preparation = Preparation()
        preparation.start()
    total = Count()
    lines = []
    for stage in wanted:
        say(f"stage {stage}")
        began = time.monotonic()
        if stage == "check":
            count = run_checks()
        elif stage in {"cluster", "faults"}:
            count = run_cluster_tests(stage, preparation)
        elif stage == "integration":
            count = run_both("integration", "drivers")
        else:
            count = run_pytest(stage)
        total.add(count)
        seconds = time.monotonic() - began
        lines.append(
            f"{stage:12} {count.passed:5} passed {count.failed:4} failed {count.skipped:4} skipped {seconds:6.0f} s"
        )
    print("\n" + "\n".join(lines))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
