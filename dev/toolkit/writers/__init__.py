"""Real Hudi writers independent of the operator: releases 0.14.0 to 1.2.0, each in its own process."""

from toolkit.writers.releases import RELEASES
from toolkit.writers.writer import COMPACTED_ELSEWHERE, Writer, WriterFailed

__all__ = ["COMPACTED_ELSEWHERE", "RELEASES", "Writer", "WriterFailed"]
