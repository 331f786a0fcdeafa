import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.timeline.HoodieActiveTimeline;
import org.apache.hudi.common.util.CompactionUtils;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;

/** One cold and many warm reads at a timeline with Hudi's own meta client. Prints milliseconds: cold, warm..., counters. */
public class JavaMetaClient {
  public static void main(String[] arguments) {
    Configuration configuration = new Configuration();
    for (int i = 2; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      configuration.set(pair[0], pair[1]);
    }
    long start = System.nanoTime();
    HoodieTableMetaClient client = HoodieTableMetaClient.builder()
        .setConf(new HadoopStorageConfiguration(configuration)).setBasePath(arguments[0])
        .setLoadActiveTimelineOnLoad(true).build();
    int instants = client.getActiveTimeline().countInstants();
    System.out.println("first " + millis(start));
    int reads = Integer.parseInt(arguments[1]);
    for (boolean counting : new boolean[] {false, true}) {
      double[] times = new double[reads];
      for (int i = 0; i < 2 * reads; i++) {
        start = System.nanoTime();
        HoodieActiveTimeline timeline = client.reloadActiveTimeline();
        if (counting) {
          count(timeline);
        }
        times[i % reads] = millis(start);
      }
      Arrays.sort(times);
      System.out.println((counting ? "counted " : "reloaded ") + times[reads / 2]);
    }
    System.out.println("instants " + instants);
  }

  private static int count(HoodieActiveTimeline timeline) {
    int sum = CompactionUtils.getCompletedDeltaCommitsSinceLatestCompaction(timeline).map(p -> p.getLeft().countInstants()).orElse(0);
    sum += CompactionUtils.getDeltaCommitsSinceLatestCompactionRequest(timeline).map(p -> p.getLeft().countInstants()).orElse(0);
    String clustering = timeline.getLastClusteringInstant().map(i -> i.requestedTime()).orElse("0");
    sum += timeline.getCommitsTimeline().filterCompletedInstants().findInstantsAfter(clustering).countInstants();
    sum += timeline.filterInflightsAndRequested().countInstants();
    sum += timeline.filterPendingCompactionTimeline().countInstants();
    try {
      String clean = timeline.readCleanMetadata(timeline.getCleanerTimeline().filterCompletedInstants().lastInstant().get())
          .getLastCompletedCommitTimestamp();
      return sum + timeline.getCommitsTimeline().filterCompletedInstants().findInstantsAfter(clean).countInstants();
    } catch (java.io.IOException error) {
      throw new RuntimeException(error);
    }
  }

  private static double millis(long start) {
    return (System.nanoTime() - start) / 1e6;
  }
}
