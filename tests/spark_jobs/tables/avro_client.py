"""A table that another tool has written by Hudi's own client, with an Avro schema that Spark would not write."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

KEYS = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.index.type": "SIMPLE",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.keygenerator.class": KEYS,
}


def write_avro(
    spark: SparkSession,
    path: str,
    columns: Sequence[tuple[str, Any]],
    commits: Sequence[Sequence[dict[str, Any]]],
    *,
    kind: str = "COPY_ON_WRITE",
    version: int = 9,
) -> None:
    """Write a table of a column `id` and these nullable ones; rows are as Avro writes them in JSON."""
    fields: list[dict[str, Any]] = [{"name": "id", "type": "int"}]
    fields += [{"name": name, "type": ["null", of], "default": None} for name, of in columns]
    text = json.dumps({"type": "record", "name": "rec", "namespace": "x", "fields": fields})
    jvm = spark._jvm
    assert jvm is not None
    hudi = jvm.org.apache.hudi
    table = hudi.common.table.HoodieTableMetaClient.newTableBuilder().setTableType(kind).setTableName("flights")
    table = table.setRecordKeyFields("id").setTableVersion(version).setKeyGeneratorClassProp(KEYS)
    table = table.setCommitTimezone(hudi.common.model.HoodieTimelineTimeZone.UTC)
    table.initTable(hudi.storage.hadoop.HadoopStorageConfiguration(spark._jsc.hadoopConfiguration()), path)
    properties = jvm.java.util.Properties()
    for key, value in {**OPTIONS, "hoodie.write.table.version": str(version)}.items():
        properties.setProperty(key, value)
    builder = hudi.config.HoodieWriteConfig.newBuilder().withPath(path).forTable("flights").withSchema(text)
    config = builder.withEmbeddedTimelineServerEnabled(False).withProperties(properties).build()
    schema = jvm.org.apache.avro.Schema.Parser().parse(text)
    for rows in commits:
        client = hudi.client.SparkRDDWriteClient(hudi.client.common.HoodieSparkEngineContext(spark._jsc), config)
        try:
            instant = client.startCommit()
            records = jvm.java.util.ArrayList()
            for row in rows:
                decoder = jvm.org.apache.avro.io.DecoderFactory.get().jsonDecoder(schema, json.dumps(row))
                record = jvm.org.apache.avro.generic.GenericDatumReader(schema).read(None, decoder)
                payload = hudi.common.model.DefaultHoodieRecordPayload(hudi.common.util.Option.of(record))
                records.add(
                    hudi.common.model.HoodieAvroRecord(hudi.common.model.HoodieKey(str(row["id"]), ""), payload)
                )
            written = client.upsert(spark._jsc.parallelize(records, 1), instant)
            assert client.commit(instant, written)
        finally:
            client.close()
