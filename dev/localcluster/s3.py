"""Makes a bucket on the S3 server, the one request that setting up needs."""

import datetime as dt
import hashlib
import hmac
import time
import urllib.error
import urllib.parse
import urllib.request

from localcluster.settings import S3_ACCOUNT, DevError

EMPTY_BODY = hashlib.sha256(b"").hexdigest()
ALREADY_THERE = 409


def make_bucket(endpoint: str, bucket: str, *, seconds: float = 20.0) -> None:
    """Make a bucket unless it exists; retries for some seconds while the server starts."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(signed_put(endpoint, bucket), timeout=5):
                return
        except urllib.error.HTTPError as error:
            if error.code == ALREADY_THERE:
                return
            raise DevError(f"The S3 server refuses the bucket {bucket}: {error.read().decode()}") from error
        except OSError as error:
            if time.monotonic() > deadline:
                raise DevError(f"The S3 server at {endpoint} cannot be reached: {error}") from error
            time.sleep(0.2)


def signed_put(endpoint: str, bucket: str) -> urllib.request.Request:
    """Return the request that makes a bucket, signed with AWS Signature Version 4."""
    host = urllib.parse.urlsplit(endpoint).netloc
    moment = dt.datetime.now(dt.UTC)
    stamp, day = moment.strftime("%Y%m%dT%H%M%SZ"), moment.strftime("%Y%m%d")
    headers = {"host": host, "x-amz-content-sha256": EMPTY_BODY, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = [f"{name}:{value}" for name, value in headers.items()]
    canonical = "\n".join(["PUT", f"/{bucket}", "", *lines, "", names, EMPTY_BODY])
    scope = f"{day}/{S3_ACCOUNT.region}/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{S3_ACCOUNT.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={S3_ACCOUNT.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return urllib.request.Request(f"{endpoint}/{bucket}", method="PUT", headers=headers)
