"""Options of commands that read an object store with the caller's own keys."""

import os
from collections.abc import Callable

import click

from hudi_operator.cli.base.app import combined
from hudi_operator.storage import S3Options


def store_options(function: Callable[..., int]) -> Callable[..., int]:
    """Declare the options of the object store; `s3_options` reads them."""
    return combined(
        click.option(
            "--s3-endpoint", metavar="URL", help="Endpoint of an S3-compatible store (default: $AWS_ENDPOINT_URL)."
        ),
        click.option("--s3-region", metavar="NAME", help="Region of the store (default: $AWS_REGION)."),
    )(function)


def url_of(path: str) -> str:
    """Return a URL as it is, and the path of a folder from the root."""
    return path if "://" in path or path.startswith("file:") else os.path.abspath(path)  # noqa: PTH100 - keeps URLs whole


def s3_options(endpoint: str | None, region: str | None) -> S3Options:
    """Return the S3 options; missing arguments come from the environment, as in the AWS command line."""
    environment = os.environ
    return S3Options(
        endpoint=endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL"),
        region=region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"),
        access_key=environment.get("AWS_ACCESS_KEY_ID"),
        secret_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        session_token=environment.get("AWS_SESSION_TOKEN"),
    )
