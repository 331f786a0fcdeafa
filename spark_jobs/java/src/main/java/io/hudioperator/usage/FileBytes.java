package io.hudioperator.usage;

import java.util.Iterator;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileSystemStorageStatistics;
import org.apache.hadoop.fs.StorageStatistics;

/** The bytes that this JVM read and wrote through Hadoop's file systems. */
public final class FileBytes {

    private FileBytes() {
    }

    /** The bytes that were read and written, as text, which Python fetches in a single call. */
    public static String readAndWritten() {
        return read() + " " + written();
    }

    static long read() {
        return sum("bytesRead");
    }

    static long written() {
        return sum("bytesWritten");
    }

    private static long sum(String name) {
        long sum = 0;
        Iterator<StorageStatistics> all = FileSystem.getGlobalStorageStatistics().iterator();
        while (all.hasNext()) {
            StorageStatistics one = all.next();
            // A store has further statistics of its own, which count the same bytes again.
            Long counted = one instanceof FileSystemStorageStatistics ? one.getLong(name) : null;
            sum += counted == null ? 0 : counted;
        }
        return sum;
    }
}
