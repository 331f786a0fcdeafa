"""Numbers in sentences for people."""


def counted(number: int, thing: str, several: str | None = None) -> str:
    """Return `1 file`, `2 files`, `1,000 files`; `several` where the plural has no `s` alone."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {several or f'{thing}s'}"
