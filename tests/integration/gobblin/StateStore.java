// Wrote current.jst with Gobblin's own classes (com.linkedin.gobblin 0.11.0, the last version at Maven Central: runtime, kafka-common
// and what they need): java StateStore.java <state.store.dir> flights. Gobblin's JobStateToJsonConverter -kc made state.json of it.
import gobblin.configuration.*;
import gobblin.runtime.*;
import gobblin.source.workunit.*;
import gobblin.source.extractor.*;
import gobblin.source.extractor.extract.kafka.*;
import java.util.*;
public class StateStore {
  public static void main(String[] a) throws Exception {
    // as KafkaSource makes work units, KafkaExtractor sets the watermark, and the job commits its state
    FsDatasetStateStore store = new FsDatasetStateStore("file:///", a[0]);
    for (int run = 1; run <= 2; run++) {
      JobState.DatasetState state = new JobState.DatasetState("FlightsToHdfs", "job_FlightsToHdfs_" + (1700000000000L + run));
      state.setState(JobState.RunningState.COMMITTED);
      int task = 0;
      // partition 0 alone, partitions 1 and 2 in one work unit
      long[][] high = {{700L * run - 100}, {300L * run, 250L * run}};
      int[][] ids = {{0}, {1, 2}};
      for (int u = 0; u < 2; u++) {
        WorkUnit unit = new WorkUnit(new SourceState(), new Extract(Extract.TableType.APPEND_ONLY, "gobblin.extract.kafka", a[1]));
        unit.setProp("topic.name", a[1]);
        List<Long> low = new ArrayList<>(), top = new ArrayList<>();
        for (int i = 0; i < ids[u].length; i++) {
          unit.setProp(ids[u].length == 1 ? "partition.id" : "partition.id." + i, ids[u][i]);
          low.add(run == 1 ? 0L : high[u][i] / 2); top.add(high[u][i] + 5);
        }
        unit.setWatermarkInterval(new WatermarkInterval(new MultiLongWatermark(low), new MultiLongWatermark(top)));
        WorkUnitState wus = new WorkUnitState(unit);
        List<Long> done = new ArrayList<>(); for (long h : high[u]) done.add(h);
        wus.setActualHighWatermark(new MultiLongWatermark(done));
        wus.setProp("job.id", state.getJobId()); wus.setProp("task.id", "task_FlightsToHdfs_" + run + "_" + task);
        TaskState ts = new TaskState(wus); ts.setTaskId("task_FlightsToHdfs_" + run + "_" + task++);
        ts.setWorkingState(WorkUnitState.WorkingState.COMMITTED);
        state.addTaskState(ts);
      }
      state.setTaskCount(task); state.setNoJobFailure();
      store.persistDatasetState(a.length > 2 ? a[2] : "", state);
    }
  }
}
