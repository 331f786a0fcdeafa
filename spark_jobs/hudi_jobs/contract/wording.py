"""Numbers in sentences for people."""


def counted(number: int, thing: str) -> str:
    """Return `1 file`, `2 files`, `1,000 files`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
