"""Runs the checks and tests in stages and counts them: `run_tests.py [STAGE...]` with names of STAGES, or `all`.

A stage is made of groups, and groups run in lanes, three at once for two cores, since all of them wait at times. The
first lane writes to the terminal; the other lanes write logs, which are shown at the end. All groups run even after one
has failed; the last line counts what passed and failed. The stages `faults`, which sweeps every fault point where
others draw a few, and kills drivers at every phase of every operation, and `upgrade`, which builds the release before,
take long, and only run when they are asked for, by name or as one of `all`.
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from localcluster.settings import CURRENT, DevError
from toolkit.control_plane import running_control_plane

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
REPORTS = ROOT / ".dev" / "test-reports"

STAGES: dict[str, Sequence[str]] = {
    "check": ("check",),
    "unit": ("unit",),
    "integration": ("integration", "streams", "slow", "matrix"),
    "cluster": ("api", "e2e"),
    "faults": ("faults", "kills"),
    "upgrade": ("upgrade",),
}
ON_REQUEST = ("faults", "upgrade")
IN_CLUSTER = ("api", "e2e", "faults", "upgrade") if CURRENT else ("e2e", "faults", "upgrade")
# The operator of the end-to-end tests would act on the tables of the API tests. So the API tests use an API server of
# their own, or run first when there is only the given cluster.
LANES = (
    ("check", "integration"),
    IN_CLUSTER,
    ("slow",),
    # These mostly wait, and so run beside groups that keep the processor busy.
    *(() if CURRENT else (("api",),)),
    ("streams",),
    ("unit",),
    ("matrix",),
    ("kills",),
)
AT_ONCE = 3
"""The number of parallel lanes; the cluster's lane counts as two, because its end-to-end tests have two parts."""
WITH_IMAGES = ("e2e", "upgrade")
YIELDING = ("nice", "-n", "5")
"""Groups without pods are limited, so that pods start in time and the cluster's programs build."""

CHECKS: dict[str, Sequence[str]] = {
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "lint": ("ruff", "check", "--quiet", "."),
    "types": ("mypy",),
    "layers": ("lint-imports",),
    "generated": ("python", "dev/generate.py", "--check"),
    "docs": ("mkdocs", "build", "--strict", "--site-dir", ".dev/site"),
}
PYTEST: dict[str, Sequence[str]] = {
    "unit": ("-m", "not spark and not s3 and not streams and not chart and not cluster and not e2e"),
    "integration": ("-m", "(spark or s3) and not streams and not slow and not matrix and not cluster and not e2e"),
    "streams": ("-m", "streams and not slow and not cluster and not e2e"),
    "slow": ("-m", "slow"),
    "matrix": ("-m", "matrix"),
    "api": ("-m", "(chart or cluster) and not e2e"),
    "faults": ("-s", "-m", "cluster", "tests/faults"),
    "kills": ("-s", "-m", "spark", "tests/spark_jobs/operations"),
    "upgrade": ("-m", "e2e", "tests/upgrade"),
}

IN_FULL: Mapping[str, Mapping[str, str]] = {
    "faults": {"FAULTS": "full"},
    "kills": {"FAULTS": "full", "KILLS": "only", "HUDI_JOBS_TRIALS": "all"},
}
"""Makes a group run everything."""

END_TO_END: Sequence[Sequence[Sequence[str]]] = (
    (("release",),),
    (
        ("ingestion", "services", "shared_table", "bad_input", "savepoints", "class_policy", "examples", "catalog"),
        ("operations", "deletion", "continuous", "streams", "costs", "driver_kills", "streams_chaos", "idle_sources"),
    ),
    (("placement", "outages", "operator_kills", "afterwards"),),
)
"""The files of end-to-end tests. The parts of a row run in parallel, because consecutive drivers keep only one core
busy, and take equally long. The first row installs and removes an operator of its own. The last row taints the nodes,
and removes the store and the operator, which the others need.
"""

BYTECODE = ROOT / ".dev" / "bytecode"
"""Compiled modules of all programs that the tests start, wherever the environment says not to write any beside them."""

STARTED = time.monotonic()

Environment = Mapping[str, str]


@dataclass
class Count:
    """The number of passed, failed and skipped tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Count") -> None:
        """Add another count."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed:5} passed {self.failed:4} failed {self.skipped:4} skipped"


@dataclass(frozen=True)
class Group:
    """Checks or tests that run together, with their output and results."""

    name: str
    log: Path | None

    def run(self) -> "Result":
        """Run the group and measure its time."""
        began = time.monotonic()
        say(f"{self.name} begins" + (f"; see {self.log}" if self.log else ""))
        if self.log:
            self.log.write_text("")
        if self.name == "check":
            count = run_checks()
        elif self.name in IN_CLUSTER:
            count = self._run_in_cluster()
        elif self.name == "api":
            count = self._run_with_control_plane()
        else:
            count = self._run_pytest(IN_FULL.get(self.name, {}))
        result = Result(self.name, count, time.monotonic() - began)
        say(f"{self.name} ended: {' '.join(str(count).split())}")
        return result

    def _run_in_cluster(self) -> Count:
        """Start an empty cluster with the needed images, run the tests, and always stop the cluster."""
        try:
            if not self._start_cluster():
                say(f"the cluster for {self.name} could not be started")
                return Count(failed=1)
            say("the cluster is up")
            kubeconfig = os.environ.get("KUBECONFIG", "") if CURRENT else ""
            environment = {"KUBECONFIG": kubeconfig or str(ROOT / ".dev" / "kubeconfig")}
            if self.name == "e2e":
                return self._run_end_to_end(environment)
            return self._run_pytest({**environment, **IN_FULL.get(self.name, {})})
        finally:
            if os.environ.get("KEEP_CLUSTER") != "1":
                self._execute(("dev/cluster", "down"))

    def _start_cluster(self) -> bool:
        if not CURRENT:
            self._build()
        if self._execute(("dev/cluster", "up", "--fresh")) != 0:
            return False
        return self.name not in WITH_IMAGES or self._execute(("dev/images",)) == 0

    def _build(self) -> None:
        """Start all slow builds at once; a failed build fails again, visibly, when it is needed."""
        commands = [("dev/cluster", "tools")]
        if self.name in WITH_IMAGES:
            # The bases of the images are mostly downloads, and do not need the cluster's programs.
            commands.append(("dev/images", "--bases"))
        with ThreadPoolExecutor() as pool:
            for command in commands:
                pool.submit(self._execute, command)

    def _run_with_control_plane(self) -> Count:
        try:
            with (
                TemporaryDirectory(prefix="hudi-operator-tests-") as folder,
                running_control_plane(Path(folder)) as plane,
            ):
                return self._run_pytest({"KUBECONFIG": str(plane.kubeconfig)})
        except (DevError, OSError) as error:
            say(f"the control plane for the tests of {self.name} could not be started: {error}")
            return Count(failed=1)

    def _run_end_to_end(self, environment: Environment) -> Count:
        """Run the rows of end-to-end tests in sequence, and the parts of a row in parallel, each with a log."""
        listed = {f"test_{file}.py" for row in END_TO_END for part in row for file in part}
        if unlisted := listed.symmetric_difference(path.name for path in (ROOT / "tests" / "e2e").glob("test_*.py")):
            say(f"END_TO_END in {Path(__file__).name} and the folder tests/e2e differ by {', '.join(sorted(unlisted))}")
            return Count(failed=1)
        count = Count()
        for row in END_TO_END:
            parts = [Group(f"e2e-{files[0]}", REPORTS / f"e2e-{files[0]}.log") for files in row]
            with ThreadPoolExecutor() as pool:
                for counted in pool.map(Group._run_part, parts, row, [environment] * len(row)):
                    count.add(counted)
            for part in parts:
                self._execute(("cat", str(part.log)))
        return count

    def _run_part(self, files: Sequence[str], environment: Environment) -> Count:
        assert self.log is not None
        say(f"{self.name} begins; see {self.log}")
        self.log.write_text("")
        return self._run_pytest(environment, ("-m", "e2e", *(f"tests/e2e/test_{file}.py" for file in files)))

    def _run_pytest(self, environment: Environment, selection: Sequence[str] = ()) -> Count:
        """Run the tests and count them from the report; a missing report is one failure."""
        report = REPORTS / f"{self.name}.xml"
        report.unlink(missing_ok=True)
        priority = () if selection or self.name in IN_CLUSTER else YIELDING
        command = (str(BIN / "python"), "-m", "pytest", "-q", "--durations=25", f"--junitxml={report}")
        code = self._execute((*priority, *command, *(selection or PYTEST[self.name])), environment)
        count = read_report(report)
        if code != 0 and count.failed == 0:
            say(f"pytest ended with exit code {code} and no failed test")
            count.failed = 1
        return count

    def _execute(self, command: Sequence[str], environment: Environment | None = None) -> int:
        """Run a program and return its exit code."""
        with self.log.open("ab") if self.log else nullcontext() as output:
            variables = {**os.environ, **(environment or {})}
            done = subprocess.run(command, cwd=ROOT, env=variables, stdout=output, stderr=output, check=False)
            return done.returncode


@dataclass(frozen=True)
class Result:
    """The result of a group."""

    name: str
    count: Count
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:12} {self.count} {self.seconds:6.0f} s"


def say(text: str) -> None:
    """Print one line of progress with the seconds since the program began."""
    # One write for the line and its end, because lanes print at the same time.
    print(f"[{time.monotonic() - STARTED:6.0f} s] {text}\n", end="", flush=True)


def run_checks() -> Count:
    """Run the checks of the code."""
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


def run_lane(groups: Sequence[Group]) -> list[Result]:
    """Run groups in sequence."""
    return [group.run() for group in groups]


def main() -> int:
    """Run the requested stages, or all."""
    if unknown := set(sys.argv[1:]) - {*STAGES, "all"}:
        sys.exit(f"There is no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)} and all.")
    wanted = [stage for stage in STAGES if stage in sys.argv[1:] or "all" in sys.argv[1:]]
    wanted = wanted or [stage for stage in STAGES if stage not in ON_REQUEST]
    REPORTS.mkdir(parents=True, exist_ok=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
    names = {name for stage in wanted for name in STAGES[stage]}
    lanes: list[list[Group]] = []
    running: list[Future[list[Result]]] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for lane in LANES:
            # The first lane prints to the terminal.
            if groups := [Group(name, REPORTS / f"{name}.log" if lanes else None) for name in lane if name in names]:
                lanes.append(groups)
                running.append(pool.submit(run_lane, groups))
                if lane == IN_CLUSTER:  # counts as two lanes
                    pool.submit(wait, (running[-1],))
        results = [result for lane in running for result in lane.result()]
    for log in (group.log for lane in lanes for group in lane if group.log):
        print(f"\n{log.read_text(errors='replace')}", flush=True)
    total = Count()
    print()
    for result in results:
        total.add(result.count)
        print(result)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
