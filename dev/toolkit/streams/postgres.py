"""A real PostgreSQL from Debian with logical replication."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

from localcluster.settings import DevError
from localcluster.toolchain import ensure_packages
from toolkit.control_plane import free_ports
from toolkit.streams.security import User
from toolkit.streams.server import LOOPBACK, Server, as_user

_NOTHING: Mapping[str, str] = MappingProxyType({})
_PROGRAMS = Path("/usr/lib/postgresql")
_SETTINGS = {
    "wal_level": "logical",
    "max_wal_senders": "100",
    "max_replication_slots": "100",
    "wal_sender_timeout": "5s",
    "shared_buffers": "32MB",
    "unix_socket_directories": "",
    # A killed process loses no written data; only a lost machine would.
    "fsync": "off",
}


class Postgres(Server):
    """A server with the database `postgres` and a superuser account.

    `host` is a further address to listen at, one that pods reach. Started by root, it runs as the user postgres, who
    must be able to enter a given folder.
    """

    name = "postgres"
    stop_signal = signal.SIGINT
    user = "postgres"
    account = User("postgres", "postgres-secret")
    database = "postgres"

    def __init__(
        self, folder: Path | None = None, *, host: str = LOOPBACK, settings: Mapping[str, str] = _NOTHING
    ) -> None:
        super().__init__(folder)
        self.host = host
        (self.port,) = free_ports(1)
        self._settings = {**_SETTINGS, **settings}

    @property
    def jdbc_url(self) -> str:
        """The database's address for JDBC, without the account."""
        return f"jdbc:postgresql://{self.host}:{self.port}/{self.database}"

    def connect(self, *, autocommit: bool = False) -> "psycopg.Connection[tuple[Any, ...]]":
        """Open a connection, for example for a transaction that stays open."""
        return psycopg.connect(
            host=LOOPBACK,
            port=self.port,
            user=self.account.name,
            password=self.account.password,
            dbname=self.database,
            connect_timeout=5,
            autocommit=autocommit,
        )

    def execute(self, sql: str, *values: object) -> None:
        """Execute statements; with values for placeholders `%s` only a single one."""
        with self.connect() as connection:
            connection.execute(sql.encode(), values or None)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.connect() as connection:
            return connection.execute(sql.encode(), values or None).fetchall()

    def prepare(self) -> None:
        """Create an empty database."""
        data = self.folder / "data"
        if data.exists():
            return
        password = self.folder / "password"
        password.write_text(self.account.password)
        if os.geteuid() == 0:
            for path in (self.folder, password):
                shutil.chown(path, self.user)
        options = (f"--pwfile={password}", f"--username={self.account.name}", "--auth=scram-sha-256", "--no-sync")
        command = (*as_user(self.user), _program("initdb"), f"--pgdata={data}", "--encoding=UTF8", *options)
        with self.log.open("ab") as log:
            subprocess.run(command, cwd=self.folder, check=True, stdout=log, stderr=log)
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all all scram-sha-256\nhost replication all all scram-sha-256\n")

    def command(self) -> Sequence[str]:
        """Return the server's command."""
        addresses = ",".join(sorted({LOOPBACK, self.host}))
        settings = {"port": str(self.port), "listen_addresses": addresses, **self._settings}
        return (_program("postgres"), "-D", "data", *(f"--{key}={value}" for key, value in settings.items()))

    def answers(self) -> bool:
        """Tell whether the server accepts the account."""
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _program(name: str) -> str:
    """Return the path of a PostgreSQL program, which Debian keeps off the PATH."""
    if not _homes():
        _install()
    if not (homes := _homes()):
        raise DevError(f"PostgreSQL's package is there, and its programs are not in {_PROGRAMS}.")
    return str(homes[-1] / "bin" / name)


def _homes() -> list[Path]:
    return sorted(home for home in _PROGRAMS.glob("*") if (home / "bin" / "postgres").exists())


def _install() -> None:
    """Install the server without Debian's default database."""
    ensure_packages({"pg_lsclusters": "postgresql-common"})
    configuration = Path("/etc/postgresql-common/createcluster.d/hudi-operator.conf")
    configuration.parent.mkdir(exist_ok=True)
    configuration.write_text("create_main_cluster = false\n")
    ensure_packages({str(_PROGRAMS): "postgresql"})
