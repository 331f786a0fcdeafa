"""The lock that writers of an optimistic table share: checks that it can be reached, before anything waits for it."""

import socket
from collections.abc import Mapping
from contextlib import closing

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed

_PROVIDER = "hoodie.write.lock.provider"
_CONNECT = "hoodie.write.lock.zookeeper.url"
_SECONDS = 5.0
_PORT = 2181


def require_lock(options: Mapping[str, str]) -> None:
    """Raise `TaskFailed` when no ZooKeeper server of the table's lock answers.

    Hudi's lock provider would try for more than four minutes. Other providers are left to Hudi.
    """
    if not options.get(_PROVIDER, "").endswith("ZookeeperBasedLockProvider"):
        return
    servers = [server.strip() for server in options.get(_CONNECT, "").partition("/")[0].split(",") if server.strip()]
    failures = [failure for server in servers if (failure := _failure(server)) is not None]
    if len(failures) == len(servers):
        raise TaskFailed(
            FailureReason.LOCK_UNAVAILABLE,
            f"No ZooKeeper server of the table's lock answers: {'; '.join(failures) or 'none is named'}. Check that "
            "it runs and that the job's pod can reach it.",
        )


def _failure(server: str) -> str | None:
    host, _, port = server.rpartition(":") if ":" in server else (server, "", str(_PORT))
    try:
        with closing(socket.create_connection((host, int(port)), timeout=_SECONDS)) as connection:
            connection.settimeout(_SECONDS)
            connection.sendall(b"srvr")
            # A server that does not allow this word answers with a sentence, a server that hangs with nothing.
            return None if connection.recv(1) else f"{server} closed the connection"
    except (OSError, ValueError) as error:
        return f"{server} ({error})"
