"""Lists folders in a bucket with keys such as `a//b` or `a/../b`, for which `obstore` refuses a whole listing."""

from hudi_operator.storage.options import S3Options

_ODD = frozenset({"", ".", ".."})


def folders_beside_odd_keys(bucket: str, key: str, options: S3Options) -> list[str]:
    """Return the folders directly under a key, in order, except names that a path cannot express.

    The listing cannot be stopped, so its cost grows with the keys and folders at that level. Raises an `OSError`.
    """
    from pyarrow import fs  # noqa: PLC0415 - only what is needed is loaded

    scheme, _, host = (options.endpoint or "").rpartition("://")
    store = fs.S3FileSystem(
        access_key=options.access_key,
        secret_key=options.secret_key,
        session_token=options.session_token,
        anonymous=options.anonymous,
        region=options.region or "us-east-1",
        endpoint_override=host or None,
        scheme=scheme or "https",
        force_virtual_addressing=options.virtual_hosted,
        connect_timeout=options.connect_timeout,
        request_timeout=options.request_timeout,
    )
    above = f"{bucket}/{key}/" if key else f"{bucket}/"
    entries = store.get_file_info(fs.FileSelector(above, recursive=False))
    names = (each.path.removeprefix(above) for each in entries if each.type is fs.FileType.Directory)
    return sorted(name for name in names if name not in _ODD and "/" not in name)
