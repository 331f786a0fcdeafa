package io.hudioperator.usage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerUsageTest {

    @TempDir
    private Path root;

    private void write(String file, String content) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }

    private void writeVersion1() throws IOException {
        write("sys/fs/cgroup/cpuacct/cpuacct.usage", "12000000345\n");
        write("sys/fs/cgroup/memory/memory.max_usage_in_bytes", "4096\n");
    }

    private void writeVersion2() throws IOException {
        write("sys/fs/cgroup/cgroup.type", "domain\n");
        write("sys/fs/cgroup/cpu.stat", "usage_usec 12000345\nuser_usec 11000000\nsystem_usec 1000345\n");
        write("sys/fs/cgroup/memory.peak", "8192\n");
    }

    @Test
    void groupsOfVersion1AreRead() throws IOException {
        writeVersion1();
        assertEquals(12_000_000_345L, new ContainerUsage(root).cpuNanos());
        assertEquals(4096, new ContainerUsage(root).peakMemoryBytes());
    }

    @Test
    void groupsOfVersion2AreRead() throws IOException {
        writeVersion2();
        assertEquals(12_000_345_000L, new ContainerUsage(root).cpuNanos());
        assertEquals(8192, new ContainerUsage(root).peakMemoryBytes());
    }

    @Test
    void peakOfTheProcessStandsInForAKernelWithoutPeaks() throws IOException {
        writeVersion2();
        Files.delete(root.resolve("sys/fs/cgroup/memory.peak"));
        write("proc/self/status", "Name:\tjava\nVmHWM:\t   20 kB\nThreads:\t9\n");
        assertEquals(20 * 1024, new ContainerUsage(root).peakMemoryBytes());
    }

    @Test
    void rootOfTheMachinesGroupsIsNotRead() throws IOException {
        writeVersion1();
        writeVersion2();
        write("sys/fs/cgroup/cpuacct/release_agent", "");
        write("sys/fs/cgroup/memory/release_agent", "");
        Files.delete(root.resolve("sys/fs/cgroup/cgroup.type"));
        long own = new ContainerUsage(root).cpuNanos();
        assertTrue(own > 0 && own != 12_000_000_345L && own != 12_000_345_000L);
        assertTrue(new ContainerUsage(root).peakMemoryBytes() < 0);
    }

    @Test
    void unreadableNumberCountsAsMissing() throws IOException {
        write("sys/fs/cgroup/cpuacct/cpuacct.usage", "max\n");
        write("sys/fs/cgroup/memory/memory.max_usage_in_bytes", "99999999999999999999\n");
        assertTrue(new ContainerUsage(root).cpuNanos() > 0);
        assertTrue(new ContainerUsage(root).peakMemoryBytes() < 0);
    }
}
