"""Write or check what is made from the code: the CRDs, the lists of fields and docs/reference/names.md.

`--write` writes below the current folder, which is the root of the source tree. `--check` prints a diff, and exits with
1 if what is committed is not what the code says.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from toolkit.generated.files import differences, generated_files


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated files below the current folder; return the exit code."""
    parser = argparse.ArgumentParser(prog="python dev/generate.py", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write the generated files")
    action.add_argument("--check", action="store_true", help="exit with 1 and a diff when they are out of date")
    chosen = parser.parse_args(arguments)
    files = generated_files(Path.cwd())
    if chosen.write:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    diff = list(differences(Path.cwd(), files))
    sys.stdout.writelines(diff)
    if diff:
        sys.stderr.write(
            "The generated files are out of date: run python dev/generate.py --write, commit the result.\n"
        )
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
