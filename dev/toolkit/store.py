"""Accesses files in the S3 server."""

from functools import cache

import obstore
from obstore.store import S3Store

from toolkit.cluster import S3Access


class Store:
    """Puts, lists and removes files; paths are `bucket/key`."""

    def __init__(self, access: S3Access) -> None:
        self._access = access
        self._bucket = cache(self._open)

    def put(self, path: str, content: bytes) -> None:
        """Write one file."""
        bucket, _, key = path.partition("/")
        obstore.put(self._bucket(bucket), key, content)

    def get(self, path: str) -> bytes:
        """Read one file."""
        bucket, _, key = path.partition("/")
        return bytes(obstore.get(self._bucket(bucket), key).bytes())

    def files(self, path: str) -> list[str]:
        """Return the files below a folder, as paths without the bucket."""
        bucket, _, prefix = path.partition("/")
        return [item["path"] for page in obstore.list(self._bucket(bucket), prefix) for item in page]

    def remove(self, path: str) -> None:
        """Remove one file, or everything below a folder."""
        bucket = path.partition("/")[0]
        keys = [*self.files(path), path.partition("/")[2]]
        obstore.delete(self._bucket(bucket), keys)

    def _open(self, bucket: str) -> S3Store:
        return S3Store(
            bucket,
            endpoint=self._access.endpoint,
            access_key_id=self._access.access_key,
            secret_access_key=self._access.secret_key,
            region=self._access.region,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )
