"""The options of Kafka's clients: the same for the driver's own and for Spark's source.

They contain no secrets. The clients read the files of mounted Secrets themselves, through Kafka's config providers, in
the driver and the executors. The time limits give up unresponsive brokers within a minute.
"""

from hudi_jobs.contract import Isolation, KafkaSecurity, KafkaSource, SaslMechanism
from hudi_jobs.java_classes import PACKAGE

_PROVIDER = f"{PACKAGE}.kafka.SecretFiles"
_DIRECTORY = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
_MODULES = {
    SaslMechanism.PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    SaslMechanism.SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    SaslMechanism.SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def client_options(source: KafkaSource) -> dict[str, str]:
    """Return the options for any client."""
    return {
        "bootstrap.servers": source.bootstrap_servers,
        "security.protocol": source.security.protocol.value,
        "request.timeout.ms": "15000",
        "default.api.timeout.ms": "30000",
        "socket.connection.setup.timeout.ms": "5000",
        "socket.connection.setup.timeout.max.ms": "10000",
        **_sasl(source.security),
        **_tls(source.security),
    }


def reader_options(source: KafkaSource) -> dict[str, str]:
    """Return the options for the executors' consumers, in addition to Spark's own."""
    return {**client_options(source), "isolation.level": isolation_level(source)}


def isolation_level(source: KafkaSource) -> str:
    """Return Kafka's name of the isolation level."""
    return "read_committed" if source.isolation is Isolation.READ_COMMITTED else "read_uncommitted"


def _sasl(security: KafkaSecurity) -> dict[str, str]:
    if security.mechanism is None:
        return {}
    parts = [f'{name}="${{secret:{security.credentials_folder}:{name}}}"' for name in ("username", "password")]
    return {
        "sasl.mechanism": security.mechanism.value,
        "sasl.jaas.config": f"{_MODULES[security.mechanism]} required {' '.join(parts)};",
        **_providers(security),
    }


def _tls(security: KafkaSecurity) -> dict[str, str]:
    if not security.protocol.value.endswith("SSL"):
        return {}
    options = {"ssl.endpoint.identification.algorithm": "https"}
    if security.ca_file is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": security.ca_file}
    if security.certificate_folder is not None:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": f"${{dir:{security.certificate_folder}:tls.crt}}",
            "ssl.keystore.key": f"${{dir:{security.certificate_folder}:tls.key}}",
            **_providers(security),
        }
    return options


def _providers(security: KafkaSecurity) -> dict[str, str]:
    used = {"dir": _DIRECTORY} if security.certificate_folder is not None else {}
    if security.mechanism is not None:
        used |= {"secret": _PROVIDER}
    classes_of = {f"config.providers.{name}.class": kind for name, kind in used.items()}
    return {"config.providers": ",".join(used), **classes_of}
