"""The database that tests of streams have: what is committed stays, and its changes can be followed."""

import uuid

import psycopg
import pytest

from toolkit.streams import Postgres

pytestmark = [pytest.mark.streams, pytest.mark.slow]


@pytest.fixture
def table(postgres: Postgres) -> str:
    name = f"table_{uuid.uuid4().hex[:8]}"
    postgres.execute(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, word TEXT)")
    return name


def test_committed_rows_outlive_a_kill_and_open_rows_do_not(postgres: Postgres, table: str) -> None:
    postgres.execute(f"INSERT INTO {table} VALUES (%s, %s)", 1, "committed")
    connection = postgres.connect()
    connection.execute(f"INSERT INTO {table} VALUES (2, 'open')".encode())

    postgres.kill()
    postgres.start()

    assert postgres.rows(f"SELECT * FROM {table}") == [(1, "committed")]
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    postgres.stop()
    postgres.start()
    assert postgres.rows(f"SELECT * FROM {table} WHERE id = %s", 1) == [(1, "committed")]


def test_changes_can_be_followed(postgres: Postgres, table: str) -> None:
    postgres.execute(f"CREATE PUBLICATION {table} FOR TABLE {table}")
    postgres.rows(f"SELECT pg_create_logical_replication_slot('{table}', 'pgoutput')")
    postgres.execute(f"INSERT INTO {table} VALUES (1, 'new')")

    query = "SELECT count(*) FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1', "
    ((changes,),) = postgres.rows(query + "'publication_names', %s)", table, table)
    postgres.rows("SELECT pg_drop_replication_slot(%s)", table)

    assert changes >= 3  # at least the begin, the row and the commit


def test_a_wrong_password_is_refused(postgres: Postgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host=postgres.host, port=postgres.port, user="postgres", password="wrong", dbname="postgres")
