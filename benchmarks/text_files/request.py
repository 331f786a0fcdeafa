"""Prints the request of one ingestion, made by the code of the checkout that runs this program."""

import sys
from pathlib import Path

from hudi_jobs.contract import JobRequest, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options

sys.path.insert(0, str(Path.cwd() / "dev"))

from toolkit.spark_home import LOCAL_FILES, java_options, spark_home

source, file_format, path, columns = sys.argv[1:]
fields = {"type": "CopyOnWrite", "recordKey": ["id"], "partitionBy": ["month"]}
spec = {"basePath": "s3a://lake/flights", "tableName": "flights", **fields}
resource = HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "a"}, "spec": spec})
# Documents and not models: both checkouts read them, whatever they call the model of a task.
files = {"path": source, "format": file_format, "options": {}, "schemaDdl": columns}
if file_format == "csv":
    files["options"] = {"header": "true"}
task = {
    "id": "flights",
    "service": Service.INGESTION,
    "table": {"name": "flights", "basePath": path, **fields},
    "hudiOptions": owned_hudi_options(resource, Service.INGESTION),
    "ingestion": {"source": {"kind": "files", **files}},
}
home = spark_home()
conf = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1500m",
    "spark.driver.extraJavaOptions": f"{java_options(home)} -Xms1500m",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
    **LOCAL_FILES,
}
request = JobRequest.model_validate({"run": "bench", "sparkConf": conf, "tasks": [task]})
sys.stdout.write(request.model_dump_json(by_alias=True))
