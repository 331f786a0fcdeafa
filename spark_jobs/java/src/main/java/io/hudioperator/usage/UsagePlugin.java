package io.hudioperator.usage;

import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects in the driver what its executors use.
 *
 * <p>Each executor reports every two seconds and when it ends. So little is missing even where the last report is lost:
 * an executor that ends with its driver often cannot send it.
 */
public final class UsagePlugin implements SparkPlugin {

    private static final Logger LOGGER = LoggerFactory.getLogger(UsagePlugin.class);
    private static final long PAUSE_MILLIS = 2000;
    private static volatile ExecutorReports reports;

    /** The totals of this driver's executors, also after its session has ended; null without a session that asked. */
    public static String totals() {
        ExecutorReports current = reports;
        return current == null ? null : current.totals(System.nanoTime());
    }

    @Override
    public DriverPlugin driverPlugin() {
        return new Collector();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Reporter();
    }

    private static final class Collector implements DriverPlugin {

        private final ExecutorReports collected = new ExecutorReports();

        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            reports = collected;
            return Map.of();
        }

        @Override
        public Object receive(Object message) {
            if (message instanceof ExecutorReport report) {
                collected.add(report, System.nanoTime());
            }
            return null;
        }
    }

    private static final class Reporter implements ExecutorPlugin, Runnable {

        private final ContainerUsage usage = new ContainerUsage(Path.of("/"));
        private final Thread thread = new Thread(this, "usage-reporter");
        private PluginContext context;

        @Override
        public void init(PluginContext plugin, Map<String, String> extraConf) {
            context = plugin;
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    report(false);
                    Thread.sleep(PAUSE_MILLIS);
                }
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void shutdown() {
            thread.interrupt();
            report(true);
        }

        /** A report that cannot be made or sent is left out: what was not measured never fails a run. */
        private synchronized void report(boolean isLast) {
            try {
                long cpu = usage.cpuNanos();
                long peak = usage.peakMemoryBytes();
                String name = context.executorID();
                context.send(new ExecutorReport(name, cpu, peak, FileBytes.read(), FileBytes.written(), isLast));
            } catch (Exception error) {
                LOGGER.debug("a report of this executor's usage is left out", error);
            }
        }
    }
}
