"""Reads a timeline with hudi-rs in its own environment, and prints the median milliseconds of a read."""

import json
import statistics
import sys
import time

from hudi import HudiTableBuilder

uri, reads, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])


def read() -> int:
    builder = HudiTableBuilder.from_base_uri(uri)
    for key, value in options.items():
        builder = builder.with_storage_option(key, value)
    return len(builder.build().get_timeline().get_completed_deltacommits())


times = []
for _ in range(reads + 1):
    started = time.perf_counter()
    commits = read()
    times.append((time.perf_counter() - started) * 1000)
print(json.dumps({"median": statistics.median(times[1:]), "first": times[0], "delta_commits": commits}))
