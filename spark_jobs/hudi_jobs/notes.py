"""What marks a commit as that of one task of one run, in the commit's extra metadata."""

from hudi_jobs.contract import METADATA_PREFIX, RUN_KEY

TASK_KEY = f"{METADATA_PREFIX}task"
"""Which task of the run made the commit: a run may have several for one table."""


def commit_notes(run: str, task: str) -> dict[str, str]:
    """Return what marks the commit of one task of one run."""
    return {RUN_KEY: run, TASK_KEY: task}
