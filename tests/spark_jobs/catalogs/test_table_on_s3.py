"""A table on S3 in a metastore that reaches the store: the entry of its folder, read by name in another session."""

from dataclasses import replace
from typing import Any

import pytest
from tests.e2e.read_table import read_by_name
from tests.spark_jobs.catalogs.conftest import DATABASE, CatalogTrial, MetastoreClient
from tests.spark_jobs.catalogs.counting_proxy import CountingProxy
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import Outcome
from toolkit.cluster import S3Access
from toolkit.streams.metastore import HiveMetastore

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.s3]


@IN_FULL
def test_table_on_s3_is_read_by_name(trial: CatalogTrial, s3: Any) -> None:
    bucket = "catalog"
    s3.create_bucket(Bucket=bucket)
    trial.lake.use_store(bucket, s3.meta.endpoint_url)
    s3.put_object(Bucket=bucket, Key="in/1.json", Body=b'{"id": "1", "v": "a", "day": "mon"}')
    store = S3Access(endpoint=s3.meta.endpoint_url, access_key="access", secret_key="secret", region="us-east-1")
    with HiveMetastore(store=store) as server, CountingProxy(server.port) as proxy:
        client = MetastoreClient(trial.lake.spark, server.uri)
        client.make_database(DATABASE)

        result = replace(trial, proxy=proxy).ingest()

        assert result.outcome is Outcome.SUCCEEDED, result
        assert client.entry(trial.table).location == f"s3a://{bucket}/table"
        (rows,) = read_by_name([f"{DATABASE}.{trial.table}"], store, server.uri, "id", "v", "day")
        assert rows == [{"id": "1", "v": "a", "day": "mon"}]
