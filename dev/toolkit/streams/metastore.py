"""A real Hive Metastore."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from toolkit.cluster import S3Access
from toolkit.control_plane import free_ports
from toolkit.jars import fetch_jars
from toolkit.streams.downloads import class_path, unpacked
from toolkit.streams.server import LOOPBACK, SMALL_JAVA, Server, connects

_MAIN = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_HADOOP = ("hadoop-client-api", "hadoop-client-runtime", "commons-logging", "commons-cli", "commons-collections-")
"""Jars of PySpark, by the beginnings of their names: the archive has no Hadoop."""

_S3 = ("hadoop-aws-", "aws-java-sdk-bundle-")
"""Jars of the Spark image that reach S3."""


class HiveMetastore(Server):
    """A metastore of Hive 3.1.3 without authentication; its Derby database is in its folder, and survives a kill.

    `host` is the address to listen at: loopback, or one that pods reach. It reaches tables on local disks, and with a
    `store` those on S3.
    """

    name = "metastore"

    def __init__(self, folder: Path | None = None, *, host: str = LOOPBACK, store: S3Access | None = None) -> None:
        super().__init__(folder)
        self._host = host
        self._store = store
        (self.port,) = free_ports(1)

    @property
    def uri(self) -> str:
        """The address for clients."""
        return f"thrift://{self._host}:{self.port}"

    def prepare(self) -> None:
        """Write the settings: the schema of the database is made when it is first used."""
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self.folder}/database;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "metastore.schema.verification": "false",
            "metastore.thrift.bind.host": self._host,
            "metastore.thrift.port": str(self.port),
            "metastore.warehouse.dir": f"file:{self.folder}/warehouse",
            "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
            "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
            **({} if self._store is None else _access(self._store)),
        }
        lines = (
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        )
        (self.folder / "metastore-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")

    def command(self) -> Sequence[str]:
        """Return the server's command."""
        (home,) = unpacked("metastore")
        (archive,) = home.iterdir()
        jars = Path(pyspark.__file__).parent / "jars"
        hadoop = (str(jar) for jar in sorted(jars.glob("*.jar")) if jar.name.startswith(_HADOOP))
        store = (str(jar) for jar in (fetch_jars() if self._store else ()) if jar.name.startswith(_S3))
        path = (str(self.folder), f"{archive}/lib/*", class_path("metastore_jars"), *hadoop, *store)
        # Derby need not survive the end of the machine.
        derby = ("-Dderby.system.durability=test", f"-Dderby.stream.error.file={self.folder}/derby.log")
        return (*SMALL_JAVA, "-Xmx256m", *derby, "-cp", ":".join(path), _MAIN, "-p", str(self.port))

    def answers(self) -> bool:
        """Tell whether the metastore accepts connections."""
        return connects(self.port, self._host)


def _access(store: S3Access) -> dict[str, str]:
    """Return the settings of Hadoop's S3 client."""
    return {
        "fs.s3a.endpoint": store.endpoint,
        "fs.s3a.endpoint.region": store.region,
        "fs.s3a.access.key": store.access_key,
        "fs.s3a.secret.key": store.secret_key,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
    }
