"""The lease file of a table: one holder at a time, whoever runs, dies, freezes or loses a reply. No JVM."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store
from tests.tasks import task_of

from hudi_jobs.contract import ConcurrencyMode, FailureReason, Service, TableDefinition
from hudi_jobs.exclusive import _leases_of
from hudi_jobs.lease import leases as leases_module
from hudi_jobs.lease import stores
from hudi_jobs.lease.leases import (
    Content,
    HeldElsewhere,
    Lease,
    LeaseFile,
    LeaseKeeper,
    State,
    VersionConflict,
    decode,
    take,
)
from hudi_jobs.lease.stores import LocalFiles, S3Files, TableFile
from hudi_jobs.spark.failures import TaskFailed

RIVALS = 8
LEASE = 60.0
NO_SESSION: Any = None


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Store]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    config: Any = {"endpoint": f"http://{host}:{port}", "access_key_id": "a", "secret_access_key": "b", "region": "eu"}
    store = S3Store("lake", config=config, client_options={"allow_http": True})
    import boto3  # noqa: PLC0415 - only where there is a server

    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="lake")
    yield store
    server.stop()


@pytest.fixture(params=["local", "s3"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Each call is another process's view of the same lease file."""
    if request.param == "local":
        return lambda: TableFile(LocalFiles(tmp_path / "lease file"), "services.json")
    bucket = request.getfixturevalue("bucket")
    return lambda: TableFile(S3Files(bucket, f"{tmp_path.name}/lease file"), "services.json")


class Time:
    """A clock that only moves when somebody sleeps, and what happens meanwhile."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self._meanwhile = meanwhile

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._meanwhile()

    def clock(self) -> float:
        return self.now


def take_as(store: Any, run: str, time: Time | None = None) -> LeaseFile | HeldElsewhere:
    time = time or Time()
    lease = take([store], run=run, lease_seconds=LEASE, sleep=time.sleep, clock=time.clock)
    return lease._lease_files[0] if isinstance(lease, Lease) else lease


def abandoned(store: Any, run: str = "dead", state: State = State.HELD) -> None:
    """Leave a lease file of another process behind."""
    content = Content(run=run, host="there", attempt="other", state=state, refreshed_at="2026-01-01T00:00:00Z")
    store.write(content.encode(), expected=None)


class Meeting:
    """A view of the lease file that gives its first look only when all rivals have had theirs."""

    def __init__(self, store: Any, start: threading.Barrier) -> None:
        self._store = store
        self._start = start
        self._looked = False

    def read(self) -> tuple[bytes, str] | None:
        found: tuple[bytes, str] | None = self._store.read()
        if not self._looked:
            self._looked = True
            self._start.wait()
        return found

    def write(self, content: bytes, *, expected: str | None) -> str:
        return str(self._store.write(content, expected=expected))


def race(open_store: Callable[[], Any]) -> list[LeaseFile | HeldElsewhere]:
    start = threading.Barrier(RIVALS)

    def run(number: int) -> LeaseFile | HeldElsewhere:
        return take_as(Meeting(open_store(), start), f"run-{number}")

    with ThreadPoolExecutor(RIVALS) as pool:
        return list(pool.map(run, range(RIVALS)))


def test_one_of_many_gets_a_free_lease(open_store: Callable[[], Any]) -> None:
    assert sum(isinstance(each, LeaseFile) for each in race(open_store)) == 1


def test_one_of_many_takes_over_the_lease_file_of_a_dead_run(open_store: Callable[[], Any]) -> None:
    abandoned(open_store())
    winners = [each for each in race(open_store) if isinstance(each, LeaseFile)]
    assert [winner.taken_over for winner in winners] == [True]


def test_a_lease_file_that_is_renewed_is_left_alone(open_store: Callable[[], Any]) -> None:
    holder = take_as(open_store(), "first")
    assert isinstance(holder, LeaseFile)
    time = Time(meanwhile=holder.renew)
    found = take_as(open_store(), "second", time)
    assert isinstance(found, HeldElsewhere)
    assert "the run first on" in str(found)
    assert time.now < LEASE / 4


def test_a_dead_lease_file_counts_for_the_whole_lease(open_store: Callable[[], Any]) -> None:
    abandoned(open_store())
    time = Time()
    assert isinstance(take_as(open_store(), "second", time), LeaseFile)
    assert time.now >= LEASE


@pytest.mark.parametrize("released_at_once", [True, False])
def test_a_released_lease_file_is_free_at_once(open_store: Callable[[], Any], released_at_once: bool) -> None:
    holder = take_as(open_store(), "first")
    assert isinstance(holder, LeaseFile)
    if released_at_once:
        holder.release()
    time = Time(meanwhile=holder.release)
    taken = take_as(open_store(), "second", time)
    assert isinstance(taken, LeaseFile)
    assert not taken.taken_over
    assert time.now < LEASE / 4


def test_former_holder_of_the_lease_file_neither_renews_nor_releases_it(open_store: Callable[[], Any]) -> None:
    frozen = take_as(open_store(), "first")
    assert isinstance(frozen, LeaseFile)
    store = open_store()
    content = Content(run="second", host="there", attempt="other", state=State.HELD, refreshed_at="now").encode()
    store.write(content, expected=store.read()[1])

    with pytest.raises(VersionConflict):
        frozen.renew()
    frozen.release()
    assert store.read()[0] == content


def test_a_write_whose_reply_was_lost_is_recognised(open_store: Callable[[], Any]) -> None:
    store = open_store()
    holder = take_as(store, "first")
    assert isinstance(holder, LeaseFile)
    version = holder._version
    holder.renew()
    holder._version = version
    holder.renew()
    holder.renew()
    assert isinstance(decode(store.read()[0]), Content)


def test_two_processes_of_one_run_do_not_share_a_lease_file(
    open_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take_as(open_store(), "run")
    assert isinstance(first, LeaseFile)
    monkeypatch.setattr(leases_module, "_ATTEMPT", "another process")
    assert isinstance(take_as(open_store(), "run", Time(meanwhile=lambda: renewed(open_store()))), HeldElsewhere)


def renewed(store: Any) -> None:
    """Renew the lease file as its first holder would, whose process this is not."""
    found = store.read()
    store.write(found[0].replace(b"Z", b"1Z"), expected=found[1])


def test_possibly_frozen_holder_is_not_forgotten_by_later_holders(open_store: Callable[[], Any]) -> None:
    """Ingestions hold the lease of the services too, and do not deal with what a frozen service has begun."""
    abandoned(open_store(), "frozen")
    for run in ("ingestion", "compaction"):
        between = take_as(open_store(), run)
        assert isinstance(between, LeaseFile)
        between.release()
    last = take_as(open_store(), "clustering")
    assert isinstance(last, LeaseFile)
    assert last.taken_over


@pytest.mark.parametrize("content", [b"[" * 5000, b" " * 100_000])
def test_invalid_lease_file_counts_for_the_lease_and_is_replaced(open_store: Callable[[], Any], content: bytes) -> None:
    open_store().write(content, expected=None)
    time = Time()
    assert isinstance(take_as(open_store(), "second", time), LeaseFile)
    assert time.now >= LEASE


@pytest.fixture
def two_stores(tmp_path: Path) -> tuple[TableFile, TableFile]:
    files = LocalFiles(tmp_path / "lease file")
    return TableFile(files, "ingestion.json"), TableFile(files, "services.json")


def take_both(stores: Any, run: str, time: Time) -> Lease | HeldElsewhere:
    return take(stores, run=run, lease_seconds=LEASE, sleep=time.sleep, clock=time.clock)


def test_two_dead_lease_files_are_waited_for_at_the_same_time(two_stores: Any) -> None:
    for store in two_stores:
        abandoned(store)
    time = Time()
    taken = take_both(two_stores, "run", time)
    assert isinstance(taken, Lease)
    assert taken.taken_over
    assert LEASE <= time.now < 1.5 * LEASE


@pytest.mark.parametrize("busy", [0, 1])
def test_a_run_that_cannot_have_both_lease_files_takes_none(two_stores: Any, busy: int) -> None:
    abandoned(two_stores[1 - busy])
    holder = take_as(two_stores[busy], "holder")
    assert isinstance(holder, LeaseFile)
    before = two_stores[1 - busy].read()
    found = take_both(two_stores, "run", Time(meanwhile=holder.renew))
    assert isinstance(found, HeldElsewhere)
    assert two_stores[1 - busy].read() == before


def test_a_lease_file_that_is_taken_in_the_last_moment_gives_the_first_one_back(two_stores: Any) -> None:
    class Late(TableFile):
        def read(self) -> Any:
            found = super().read()
            if found is None:
                abandoned(self, "faster")
            return found

    second = Late(two_stores[1].files, "services.json")
    found = take_both((two_stores[0], second), "run", Time())
    assert isinstance(found, HeldElsewhere)
    assert "faster" in str(found)
    released = decode(two_stores[0].read()[0])
    assert released is not None
    assert released.state is State.RELEASED


def test_a_lease_is_lost_with_any_of_its_lease_files(two_stores: Any) -> None:
    lease = take_both(two_stores, "run", Time())
    assert isinstance(lease, Lease)
    two_stores[1].write(b"{}", expected=two_stores[1].read()[1])
    with pytest.raises(VersionConflict):
        lease.renew()


def test_a_damaged_lease_file_counts_as_somebody_elses_for_the_lease(open_store: Callable[[], Any]) -> None:
    open_store().write(b"{not json", expected=None)
    time = Time()
    taken = take_as(open_store(), "second", time)
    assert isinstance(taken, LeaseFile)
    assert taken.taken_over
    assert time.now >= LEASE


@pytest.mark.parametrize("ignored", ["create", "replace"])
def test_a_store_that_ignores_conditions_is_refused(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, ignored: str
) -> None:
    put = obstore.put

    def careless(store: S3Store, path: str, content: bytes, *, mode: Any = "overwrite") -> Any:
        obeys = mode == "overwrite" or (mode == "create") != (ignored == "create")
        return put(store, path, content, mode=mode if obeys else "overwrite")

    monkeypatch.setattr(obstore, "put", careless)
    with pytest.raises(TaskFailed, match="ignores the conditions"):
        take_as(TableFile(S3Files(bucket, f"careless-{ignored}"), "services.json"), "run")


def test_two_ingestions_never_share_a_table_and_in_a_serialized_one_no_two_runs_do() -> None:
    definition = {"name": "flights", "basePath": "/lake/flights", "type": "CopyOnWrite", "recordKey": ["id"]}

    def leases(service: Service, mode: ConcurrencyMode) -> tuple[str, ...]:
        table = TableDefinition.model_validate(definition)
        return _leases_of(task_of(service, table=table, concurrency=mode))

    serialized, optimistic = ConcurrencyMode.SERIALIZED, ConcurrencyMode.OPTIMISTIC
    for one, other in itertools.product(itertools.product(Service, (serialized, optimistic)), repeat=2):
        shared = set(leases(*one)) & set(leases(*other))
        ingestions = [run for run in (one, other) if run[0] is Service.INGESTION]
        # An ingestion of an Optimistic table and a service of one are what may continue side by side.
        alone = {Service.DELETION, Service.OPERATION} & {one[0], other[0]}
        beside = len(ingestions) == 1 and ingestions[0][1] is optimistic and not alone
        assert bool(shared) is not beside, (one, other)
        orders = [[name for name in leases(*run) if name in shared] for run in (one, other)]
        assert orders[0] == orders[1], "both take what they share in one order"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3a://lake/a/flights", "s3://lake//a/./flights/"),
        ("s3a://lake/a/flights", "S3N://lake/a/flights"),
        ("/lake/flights", "file:///lake//flights/"),
        ("/lake/a#b", "file:///lake/a#b"),
    ],
)
def test_two_spellings_of_a_path_have_one_lease(monkeypatch: pytest.MonkeyPatch, one: str, other: str) -> None:
    monkeypatch.setattr(stores, "hadoop_configuration", lambda _: {})
    places = [vars(stores.open_table_files(NO_SESSION, path)) for path in (one, other)]
    assert len({str(place.get("_prefix", place.get("_folder"))) for place in places}) == 1


@pytest.mark.parametrize("path", ["s3n://lake/a/b/../flights", "gs://lake/flights", "s3:lake/flights", "flights"])
def test_a_path_that_no_lease_is_known_for_is_refused(path: str) -> None:
    with pytest.raises(TaskFailed) as caught:
        stores.open_table_files(NO_SESSION, path)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


class Holder:
    """A lease file whose renewals end as the test says."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.written_at = 0.0
        self.error = error
        self.renewals = 0

    def renew(self) -> None:
        self.renewals += 1
        if self.error is not None:
            raise self.error
        self.written_at = self.renewals


@pytest.mark.parametrize(
    ("error", "now", "ended"),
    [
        (None, 44.0, False),
        (None, 46.5, True),
        (ConnectionError("the store is away"), 44.0, False),
        (ConnectionError("the store is away"), 45.5, True),
        (VersionConflict(), 1.0, True),
    ],
)
def test_the_jvm_is_ended_when_the_lease_is_used_up_or_lost(error: Exception | None, now: float, ended: bool) -> None:
    ends: list[float] = []
    holder: Any = Holder(error=error)
    keeper = LeaseKeeper(holder, lease_seconds=LEASE, end=lambda: ends.append(now), clock=lambda: now)
    keeper.renew()
    assert keeper.check() is not ended
    assert (keeper.lost, bool(ends)) == (ended, ended)


def test_a_lease_keeper_renews_by_itself_and_ends_the_jvm_by_itself() -> None:
    ended = threading.Event()
    holder: Any = Holder()
    with LeaseKeeper(holder, lease_seconds=0.3, end=ended.set, clock=lambda: holder.renewals) as keeper:
        while holder.renewals < 3:
            ended.wait(0.01)
        holder.error = VersionConflict()
        assert ended.wait(10)
    assert keeper.lost


def test_a_lease_keeper_renews_six_times_in_a_lease() -> None:
    holder: Any = Holder()
    with LeaseKeeper(holder, lease_seconds=1.5, end=lambda: None, clock=lambda: holder.renewals):
        time.sleep(0.8)
    assert 1 <= holder.renewals <= 8


PROGRESS: dict[str, object] = {"run": "run", "phase": "Writing"}


def test_a_renewal_writes_the_progress_of_each_run_into_its_own_lease_file(two_stores: Any) -> None:
    lease = take_both(two_stores, "run", Time())
    assert isinstance(lease, Lease)

    def reported() -> list[object]:
        return [json.loads(store.read()[0]).get("progress") for store in two_stores]

    with lease.reporting(lambda: PROGRESS, of_ingestion=True):
        with lease.reporting(lambda: PROGRESS | {"run": "service"}, of_ingestion=False):
            lease.renew()
            assert reported() == [PROGRESS, PROGRESS | {"run": "service"}]
        lease.renew()
        assert reported() == [PROGRESS, None]
        lease.release()
    assert reported() == [None, None]


@pytest.mark.parametrize("progress", [PROGRESS, None, 7, ["x"] * 100])
def test_a_run_reads_a_lease_file_with_any_progress_of_its_holder(progress: object) -> None:
    holder = Content(run="run", host="there", attempt="other", state=State.HELD, refreshed_at="now")
    document = json.loads(holder.encode())

    assert "progress" not in document
    assert decode(json.dumps(document | {"progress": progress, "later": 1}).encode()) == holder
