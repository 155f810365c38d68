import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hive.service.server.HiveServer2;

/** HiveServer2, and in the same JVM a metastore service on the port of the argument, over the same database. */
public class HiveWithMetastore {
    public static void main(String[] port) throws Throwable {
        HiveServer2.main(new String[0]);
        HiveMetaStore.main(new String[] {"-p", port[0]});
    }
}
