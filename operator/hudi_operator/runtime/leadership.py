"""Leader election with a Lease: only a single operator process acts at a time.

The holder renews the Lease continuously. Another process takes it after a release, or after it has not changed for its
promised duration, measured by the waiting process's own clock: clocks are never compared between machines. The holder
stops earlier than that: its writes go through `Leadership.check`, which refuses once the last renewal is older than the
renewal deadline. The check reads a clock that runs on while the process or the machine is frozen, so a deposed leader
that wakes up writes nothing.
"""

import asyncio
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from hudi_operator.kube.errors import AlreadyExists, Conflict, KubernetesError, NotFound, WriteRefused
from hudi_operator.kube.transport import boot_time

_log = structlog.get_logger(__name__)
_JITTER = 0.2

Document = dict[str, Any]


class LeadershipLost(Exception):
    """Another process leads, or this process failed to renew its Lease in time; the process must end."""


class Leases(Protocol):
    """The election's Lease in the Kubernetes API; errors are `KubernetesError`."""

    async def get_lease(self, name: str) -> Document | None:
        """Return the current Lease."""
        ...

    async def create_lease(self, name: str, spec: Document) -> Document:
        """Create the Lease; raises `AlreadyExists`."""
        ...

    async def replace_lease(self, lease: Document) -> Document:
        """Write back a Lease; raises `Conflict` if it was changed since it was read."""
        ...


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """The times of an election in seconds; `retry` < `renew_deadline` < `lease`."""

    lease: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A Lease seen by a waiting process, and since when (by its own clock) it is unchanged."""

    version: str
    holder: str
    promised_seconds: float
    since: float

    def seconds_until_free(self, now: float) -> float:
        """Return the seconds until the Lease can be taken; 0 if it is free."""
        return 0.0 if not self.holder else max(0.0, self.since + self.promised_seconds - now)


def sight(lease: Document, *, before: Sighting | None, now: float, default_seconds: float) -> Sighting:
    """Return the state of a Lease, keeping the time at which this version was first seen."""
    spec = lease.get("spec") or {}
    version = str(lease["metadata"].get("resourceVersion"))
    promised = spec.get("leaseDurationSeconds")
    return Sighting(
        version=version,
        holder=str(spec.get("holderIdentity") or ""),
        promised_seconds=float(promised) if isinstance(promised, int) and promised > 0 else default_seconds,
        since=before.since if before is not None and before.version == version else now,
    )


class Leadership:
    """A process's part in the election. Call `acquire`, then `hold` while working, then `release`."""

    def __init__(
        self,
        *,
        leases: Leases,
        name: str,
        identity: str,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = boot_time,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._leases = leases
        self._name = name
        self._identity = identity
        self._times = times or LeaseTimes()
        self._clock = clock
        self._draw = draw
        self._lease: Document | None = None
        self._renewed: float | None = None
        self.holder = ""
        """The leader when this process last read the Lease; empty if unknown."""

    @property
    def seconds_since_renewal(self) -> float | None:
        """Seconds since this process last renewed its Lease; None while it does not hold the Lease."""
        return None if self._renewed is None else self._clock() - self._renewed

    @property
    def is_leader(self) -> bool:
        """Whether this process may act now."""
        since = self.seconds_since_renewal
        return since is not None and since < self._times.renew_deadline

    def check(self) -> None:
        """Raise `WriteRefused` unless this process may act now."""
        if not self.is_leader:
            raise WriteRefused("this process is not the leader (any more): nothing is written")

    async def acquire(self) -> None:
        """Wait until this process leads, retrying through API errors."""
        sighting: Sighting | None = None
        problem = ""
        while True:
            try:
                async with asyncio.timeout(self._times.renew_deadline):
                    sighting = await self._try(sighting)
                problem = ""
            except (KubernetesError, TimeoutError) as error:
                if str(error) != problem:
                    problem = str(error)
                    _log.warning("lease not read", lease=self._name, error=problem)
            if self._renewed is not None:
                _log.info("leading", lease=self._name, identity=self._identity)
                return
            pause = self._times.retry * (1 + _JITTER * self._draw())
            if sighting is not None:
                # Retry no later than needed: each second of waiting is a second without a leader.
                pause = min(pause, sighting.seconds_until_free(self._clock()) + 0.05)
            await asyncio.sleep(pause)

    async def hold(self) -> None:
        """Renew until leadership is lost, then raise `LeadershipLost`."""
        while True:
            await asyncio.sleep(self._times.retry)
            await self._renew()

    async def release(self) -> None:
        """Give up the Lease, so that another process need not wait until it expires."""
        held, self._renewed = self.is_leader, None
        if not held:
            return
        with suppress(KubernetesError, TimeoutError):
            async with asyncio.timeout(self._times.retry):
                # Read again: a renewal may have been cut off after it took effect.
                lease = await self._leases.get_lease(self._name)
                if lease is not None and lease["spec"].get("holderIdentity") == self._identity:
                    spec = {**lease["spec"], "holderIdentity": "", "renewTime": _now()}
                    await self._leases.replace_lease({**lease, "spec": spec})
                    _log.info("lease released", lease=self._name)

    async def _try(self, before: Sighting | None) -> Sighting | None:
        """Read the Lease once, and take it if it is free."""
        lease = await self._leases.get_lease(self._name)
        started = self._clock()
        if lease is None:
            with suppress(AlreadyExists):
                self._took(await self._leases.create_lease(self._name, self._spec(transitions=0)), started)
            return None
        sighting = sight(lease, before=before, now=started, default_seconds=self._times.lease)
        if sighting.holder != self.holder:
            self.holder = sighting.holder
            _log.info("standing by", lease=self._name, leader=self.holder or "nobody")
        # Held by this very process: the response to an earlier attempt was lost.
        if sighting.holder == self._identity or sighting.seconds_until_free(started) == 0:
            transitions = (lease.get("spec") or {}).get("leaseTransitions")
            spec = self._spec(transitions=(transitions if isinstance(transitions, int) else 0) + 1)
            with suppress(Conflict, NotFound):
                self._took(await self._leases.replace_lease({**lease, "spec": spec}), started)
        return sighting

    async def _renew(self) -> None:
        """Renew once; tolerate failures until the deadline."""
        started = self._clock()
        left = self._times.renew_deadline - (self.seconds_since_renewal or 0.0)
        if self._lease is None or left <= 0:
            raise LeadershipLost(f"the lease was not renewed for {self._times.renew_deadline:g} seconds")
        spec = {**self._lease["spec"], "renewTime": _now()}
        try:
            async with asyncio.timeout(left):
                self._took(await self._leases.replace_lease({**self._lease, "spec": spec}), started)
        except (Conflict, NotFound):
            await self._reread(left)
        except (KubernetesError, TimeoutError) as error:
            _log.warning("lease not renewed", lease=self._name, error=str(error))

    async def _reread(self, left: float) -> None:
        """Find out whether another process holds the Lease, or only the response to a renewal was lost."""
        try:
            async with asyncio.timeout(left):
                lease = await self._leases.get_lease(self._name)
        except (KubernetesError, TimeoutError) as error:
            _log.warning("lease not read", lease=self._name, error=str(error))
            return
        holder = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
        if lease is None or holder != self._identity:
            self._renewed = None
            raise LeadershipLost(f"the lease is held by {holder or 'nobody'}")
        self._lease = lease  # replaced again at the next renewal

    def _took(self, lease: Document, started: float) -> None:
        # Counts from before the request: the other processes may have seen the Lease since then.
        self._lease, self._renewed, self.holder = lease, started, self._identity

    def _spec(self, *, transitions: int) -> Document:
        now = _now()
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._times.lease),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
