package io.hudioperator.usage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ExecutorReportsTest {

    private static final long SECOND = 1_000_000_000L;

    private final ExecutorReports reports = new ExecutorReports();

    private void add(String executor, long cpu, long peak, boolean isLast, long seconds) {
        reports.add(new ExecutorReport(executor, cpu, peak, 10, 1, isLast), seconds * SECOND);
    }

    @Test
    void totalsOfNoExecutorAreZero() {
        assertEquals("0 0 0 -1 0 0", reports.totals(0));
    }

    @Test
    void newestReportOfEachExecutorCounts() {
        add("1", 5, 700, false, 0);
        add("2", 40, 600, false, 0);
        add("1", 9, 800, false, 2);
        assertEquals("2 2 49 800 20 2", reports.totals(3 * SECOND));
    }

    @Test
    void executorThatFellSilentCountsAsNotReported() {
        add("1", 5, 700, false, 0);
        add("2", 5, 700, true, 0);
        add("3", 5, 700, false, 90);
        assertEquals("3 2 15 700 30 3", reports.totals(100 * SECOND));
    }

    @Test
    void reportAfterTheLastOneChangesNothing() {
        add("1", 9, 700, true, 0);
        add("1", 5, 700, false, 1);
        assertEquals("1 1 9 700 10 1", reports.totals(SECOND));
    }

    @Test
    void numberAndNamesOfExecutorsAreBounded() {
        for (int number = 0; number < ExecutorReports.MOST + 5; number++) {
            add("e" + number, 1, 1, true, 0);
        }
        add("e0", 1, 1, true, 0);
        add("x".repeat(65), 1, 1, true, 0);
        add(null, 1, 1, true, 0);
        assertTrue(reports.totals(0).startsWith("10000 10000 10000 "));
    }
}
