"""The end of the demonstration, unless `CATALOG=0`: its tables in a Hive Metastore, and every row read by name."""

import json
import os
import time

from demo.comparison import Comparison, rows_of
from demo.flights import FLIGHTS
from demo.screen import Screen
from demo.steps import NAMESPACE, DemoFailed, fail_if_stuck
from localcluster.settings import CURRENT, NODE_ADDRESS
from toolkit.cluster import Cluster, Document
from toolkit.streams.metastore import HiveMetastore

WANTED = os.environ.get("CATALOG", "0" if CURRENT else "1") == "1"
"""Whether to read by name as well: by default where pods reach a metastore on this machine."""

CLASS = "standard"
DATABASE = "default"
"""Every metastore has this database."""

PATIENCE_SECONDS = 240


def require_node() -> None:
    """Raise `DemoFailed` when pods could not reach a metastore on this machine."""
    if WANTED and CURRENT:
        raise DemoFailed("pods find the metastore of CATALOG=1 only on the machine of the local cluster")


def read_by_name(cluster: Cluster, screen: Screen, *tables: str) -> None:
    """Declare an entry for each table, wait until the catalog shows it, and compare its rows by name.

    The metastore ends with the demonstration, so the tables then have no entry any more.
    """
    screen.say("starting a Hive Metastore on this machine, and declaring an entry in it for each table")
    with (
        HiveMetastore(host=NODE_ADDRESS, store=cluster.s3) as metastore,
        Comparison(FLIGHTS, metastore.uri) as comparison,
    ):
        hive = {"metastoreUris": [metastore.uri], "allowedDatabases": [DATABASE]}
        _patch(cluster, "htc", CLASS, {"hive": hive})
        for name in tables:
            _patch(cluster, "ht", name, {"hive": {"database": DATABASE, "table": name}})
        _await_entries(cluster, tables)
        for name in tables:
            entry = f"{DATABASE}.{name}"
            rows = rows_of(entry, comparison.compare(cluster.s3, entry))
            screen.say(f"{entry} shows exactly the {rows:,} rows that it should, read by name from the metastore")
        for name in tables:
            _patch(cluster, "ht", name, None)


def _patch(cluster: Cluster, kind: str, name: str, catalog: Document | None) -> None:
    changes = json.dumps({"spec": {"catalog": catalog}})
    cluster.kubectl("patch", kind, "-n", NAMESPACE, name, "--type=merge", "-p", changes)


def _await_entries(cluster: Cluster, tables: tuple[str, ...]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    waiting = set(tables)
    while waiting:
        for name in sorted(waiting):
            status = (cluster.get("huditables", name, namespace=NAMESPACE) or {}).get("status") or {}
            fail_if_stuck(name, status)
            shown = status.get("catalog") or {}
            if "instant" in shown and "behindSince" not in shown:
                waiting.remove(name)
        if waiting and time.monotonic() > deadline:
            raise DemoFailed(f"within {PATIENCE_SECONDS} s the catalog does not show {', '.join(sorted(waiting))}")
        time.sleep(1)
