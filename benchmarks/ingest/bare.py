"""The smallest comparable job for the same write: reads CSV with a schema, writes Hudi; settings come as JSON."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

settings = json.loads(Path(sys.argv[1]).read_text())
spark = SparkSession.builder.getOrCreate()
frame = spark.read.schema(settings["schema"]).options(**settings["reader"]).csv(settings["source"])
frame.write.format("hudi").options(**settings["options"]).mode("append").save(settings["table"])
spark.stop()
