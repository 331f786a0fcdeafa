"""Guards compacted topics of change events: a delete vanishes as soon as its tombstone follows.

Log compaction keeps the newest message of each key, and Debezium sends a tombstone after each delete. No offset then
reveals the delete, so its row would stay in the table without any failure. Kafka does not compact messages younger than
`min.compaction.lag.ms`, which defaults to 0.
"""

from collections.abc import Iterable, Mapping

from hudi_jobs.contract import DataLossPolicy, Envelope, FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.clients.broker import Brokers


def require_deletes_kept(brokers: Brokers, source: KafkaSource, topics: Iterable[str]) -> None:
    """Raise `TaskFailed` if deletes may vanish before they are read, unless losses are accepted.

    Topics with settings that the job may not read are not checked.
    """
    if source.value.envelope is not Envelope.NONE and source.on_data_loss is DataLossPolicy.FAIL:
        refuse(brokers.compacted(topics))


def refuse(lags: Mapping[str, int]) -> None:
    """Raise `TaskFailed` for a topic compacted without a lag; `lags` maps compacted topics to milliseconds."""
    at_once = sorted(name for name, lag in lags.items() if lag <= 0)
    if at_once:
        raise TaskFailed(
            FailureReason.INPUT_LOST,
            f"The topic {at_once[0]} has change events and is compacted, which removes a delete as soon as its "
            "tombstone follows, so nothing was read. Set cleanup.policy=delete for the topic, or min.compaction.lag.ms "
            "longer than the table is ever behind; onDataLoss: Skip reads it as it is.",
        )
