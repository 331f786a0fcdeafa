"""The smallest comparable job for the same stream: reads JSON from Kafka, writes Hudi; settings come as JSON."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

settings = json.loads(Path(sys.argv[1]).read_text())
builder = SparkSession.builder
for key, value in settings["conf"].items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
messages = spark.readStream.format("kafka").options(**settings["reader"]).load()
rows = messages.select(sf.from_json(sf.col("value").cast("string"), settings["schema"]).alias("row")).select("row.*")
stream = rows.writeStream.format("hudi").options(**settings["options"]).outputMode("append")
stream.trigger(processingTime=settings["interval"]).start(settings["table"]).awaitTermination()
