"""Prints the request of one ingestion, made by the code of the checkout that runs this program."""

import sys
from pathlib import Path

from hudi_jobs.contract import FileSource, IngestionTask, JobRequest, Service, TableDefinition, TableTask
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options

sys.path.insert(0, str(Path.cwd() / "dev"))

from toolkit.spark_home import LOCAL_FILES, java_options, spark_home

source, file_format, path, columns = sys.argv[1:]
fields = {"type": "CopyOnWrite", "recordKey": ["id"], "partitionBy": ["month"]}
spec = {"basePath": "s3a://lake/flights", "tableName": "flights", **fields}
resource = HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "a"}, "spec": spec})
files = FileSource.model_validate(
    {
        "path": source,
        "format": file_format,
        "options": {"header": "true"} if file_format == "csv" else {},
        "schemaDdl": columns,
    }
)
task = TableTask(
    id="flights",
    service=Service.INGESTION,
    table=TableDefinition.model_validate({"name": "flights", "basePath": path, **fields}),
    hudi_options=owned_hudi_options(resource, Service.INGESTION),
    ingestion=IngestionTask.model_validate({"source": {"kind": "files", **files.model_dump(by_alias=True)}}),
)
home = spark_home()
conf = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1500m",
    "spark.driver.extraJavaOptions": f"{java_options(home)} -Xms1500m",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
    **LOCAL_FILES,
}
sys.stdout.write(JobRequest(run="bench", spark_conf=conf, tasks=(task,)).model_dump_json(by_alias=True))
