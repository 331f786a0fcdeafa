package io.hudioperator.usage;

import java.util.HashMap;
import java.util.Map;

/** The newest report of each executor, for at most {@link #MOST} of them. */
final class ExecutorReports {

    static final int MOST = 10_000;
    private static final int LONGEST_NAME = 64;
    private static final long QUIET_NANOS = 30_000_000_000L;

    private record Heard(ExecutorReport report, long at) {
    }

    private final Map<String, Heard> newest = new HashMap<>();

    /** Replaces the report of the executor; a report after its last one changes nothing. */
    synchronized void add(ExecutorReport report, long nanoTime) {
        String name = report.executor();
        if (name == null || name.length() > LONGEST_NAME) {
            return;
        }
        Heard before = newest.get(name);
        if (before == null ? newest.size() < MOST : !before.report().isLast()) {
            newest.put(name, new Heard(report, nanoTime));
        }
    }

    /**
     * The number of executors, how many of them reported until they ended or report still, and over all of them the
     * nanoseconds, the largest peak of memory, the bytes read and written; as text, which Python fetches in one call.
     */
    synchronized String totals(long nanoTime) {
        int reported = 0;
        long cpu = 0;
        long peak = -1;
        long read = 0;
        long written = 0;
        for (Heard heard : newest.values()) {
            ExecutorReport report = heard.report();
            reported += report.isLast() || nanoTime - heard.at() < QUIET_NANOS ? 1 : 0;
            cpu += report.cpuNanos();
            peak = Math.max(peak, report.peakMemoryBytes());
            read += report.bytesRead();
            written += report.bytesWritten();
        }
        return newest.size() + " " + reported + " " + cpu + " " + peak + " " + read + " " + written;
    }
}
