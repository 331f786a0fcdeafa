package io.hudioperator.usage;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What this container used since it started, as its control groups count; else what this process used.
 *
 * <p>Inside a container, /sys/fs/cgroup is the group of the container. Elsewhere it is the root of all groups, which counts
 * the whole machine: the root has no cgroup.type in version 2, and a release_agent in version 1. The same rules as in
 * hudi_jobs/usage/container.py.
 */
final class ContainerUsage {

    private final Path groups;
    private final Path status;

    ContainerUsage(Path root) {
        groups = root.resolve("sys/fs/cgroup");
        status = root.resolve("proc/self/status");
    }

    /** The nanoseconds of processor time. */
    long cpuNanos() {
        long counted = isVersion2()
                ? 1000 * labelled(groups.resolve("cpu.stat"), "usage_usec")
                : version1("cpuacct", "cpuacct.usage");
        return counted >= 0 ? counted : ofThisProcess();
    }

    /** The largest use of memory in bytes; -1 if nothing counted it. */
    long peakMemoryBytes() {
        long counted = isVersion2() ? number(groups.resolve("memory.peak")) : version1("memory", "memory.max_usage_in_bytes");
        // Linux has memory.peak from 5.19 on.
        return counted >= 0 ? counted : Math.max(-1, 1024 * labelled(status, "VmHWM:"));
    }

    private boolean isVersion2() {
        return Files.exists(groups.resolve("cgroup.type"));
    }

    private long version1(String controller, String file) {
        Path group = groups.resolve(controller);
        return Files.exists(group.resolve("release_agent")) ? -1 : number(group.resolve(file));
    }

    private static long ofThisProcess() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return system == null ? 0 : Math.max(0, system.getProcessCpuTime());
    }

    private static long number(Path file) {
        try {
            return Long.parseLong(Files.readString(file).trim());
        } catch (IOException | NumberFormatException error) {
            return -1;
        }
    }

    private static long labelled(Path file, String label) {
        try {
            for (String line : Files.readAllLines(file)) {
                String[] words = line.trim().split("\\s+");
                if (words.length > 1 && words[0].equals(label)) {
                    return Long.parseLong(words[1]);
                }
            }
        } catch (IOException | NumberFormatException error) {
            return -1;
        }
        return -1;
    }
}
