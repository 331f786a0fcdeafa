"""A program: asks an API server for executors as a driver does, and tells of refusals until its input ends.

Arguments: address and namespace of the API server, and the folder of a service account. The environment has POD_NAME.
"""

import sys
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from hudi_jobs.spark import refusals


def main(server: str, namespace: str, account: Path) -> None:
    """Start a session whose executors are pods."""
    settings = {
        "spark.master": f"k8s://{server}",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.instances": "2",
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.container.image": "registry.invalid/never:1",
        "spark.kubernetes.authenticate.caCertFile": str(account / "ca.crt"),
        "spark.kubernetes.authenticate.oauthTokenFile": str(account / "token"),
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
    }
    refusals._LOOK_SECONDS, refusals._OVER_SECONDS = 1.0, 5.0
    refusals.annotate_own_pod = partial(refusals.annotate_own_pod, server=server, account=account)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    refusals.watch_refusals(spark, {"spark.master": str(spark.sparkContext.master)})
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
