"""Sentences on messages that vanished before they could be read."""

from collections.abc import Sequence

from hudi_jobs.context import TaskContext
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import Cause, Loss

NAMED_LOSSES = 5
LOGGED_LOSSES = 1_000
"""The most losses to log per check of the topics; results and status name a few of them."""

_EXPLAINED = {
    Cause.EXPIRED: "They were deleted by the retention of the topic or by request.",
    Cause.RECREATED: "A topic was deleted and created again, or the brokers belong to another cluster, so the "
    "offsets are those of another topic.",
    Cause.TRUNCATED: "A partition ends before what has been read, as after the election of an unclean leader.",
    Cause.VANISHED: "A topic of the pattern that has been read is deleted, or hidden from the job: how many of its "
    "messages were not read is not known.",
}


def log_losses(context: TaskContext, losses: Sequence[Loss]) -> None:
    """Log every loss, whether the run skips it or is refused: only the log names them all."""
    for loss in losses[:LOGGED_LOSSES]:
        context.log("messages are gone before they could be read", lost=str(loss), cause=loss.cause.value)
    if len(losses) > LOGGED_LOSSES:
        context.log("more messages are gone than the log names", ranges=len(losses) - LOGGED_LOSSES)


def named(losses: Sequence[Loss]) -> str:
    """Return the number of offsets known to be lost, and the first losses."""
    shown = ", ".join(str(loss) for loss in losses[:NAMED_LOSSES])
    more = f", and {len(losses) - NAMED_LOSSES:,} more" if len(losses) > NAMED_LOSSES else ""
    return f"{sum(loss.count for loss in losses):,} known offsets; {shown}{more}"


def refusal(losses: Sequence[Loss]) -> str:
    """Return why a run that may lose nothing ends, and the remedy."""
    causes = {loss.cause for loss in losses}
    lead = "Messages that have not been read are no longer in the topic"
    advice = "Nothing was written; to continue without them, set onDataLoss to Skip."
    if Cause.VANISHED in causes:
        advice = (
            "Nothing was written. If the topic is only hidden, let the job describe it. To continue without what is "
            "gone, set onDataLoss to Skip; the next run reports it once, and after that Fail can be set again."
        )
    if causes == {Cause.VANISHED}:
        lead = "Messages that have not been read may be gone with their topic"
    return f"{lead} ({named(losses)}). {_explained(losses)} {advice}"


def passed_over(losses: Sequence[Loss]) -> str:
    """Return the message of a run that continues without these messages; empty without losses."""
    if not losses:
        return ""
    return f"Gone before they could be read: {named(losses)}. {_explained(losses)}"


def _explained(losses: Sequence[Loss]) -> str:
    causes = {loss.cause for loss in losses}
    return " ".join(text for cause, text in _EXPLAINED.items() if cause in causes)
