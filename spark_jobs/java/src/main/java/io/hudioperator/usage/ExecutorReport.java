package io.hudioperator.usage;

import java.io.Serializable;

/** What an executor used since its container started; {@code peakMemoryBytes} is -1 if nothing counted it. */
record ExecutorReport(
        String executor, long cpuNanos, long peakMemoryBytes, long bytesRead, long bytesWritten, boolean isLast)
        implements Serializable {
}
