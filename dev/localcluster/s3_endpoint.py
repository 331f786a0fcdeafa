"""Entry point of `dev/s3-endpoint`."""

import sys

from localcluster import workloads
from localcluster.console import stop_with
from localcluster.settings import S3_ACCOUNT, DevError


def main() -> None:
    """Print the S3 server's URL, or the environment of a client."""
    try:
        endpoint = workloads.s3_endpoint()
    except DevError as error:
        stop_with(error)
        return
    if "--env" not in sys.argv[1:]:
        print(endpoint)
        return
    print(f"export AWS_ENDPOINT_URL={endpoint}")
    print(f"export AWS_ACCESS_KEY_ID={S3_ACCOUNT.access_key}")
    print(f"export AWS_SECRET_ACCESS_KEY={S3_ACCOUNT.secret_key}")
    print(f"export AWS_REGION={S3_ACCOUNT.region}")


main()
