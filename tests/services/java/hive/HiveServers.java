import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.server.HiveServer2;

/** HiveServer2, and beside it one more in the same JVM for each argument: lines of key=value that are its own. */
public class HiveServers {
    public static void main(String[] beside) throws Exception {
        HiveServer2.main(new String[0]);
        for (String lines : beside) {
            HiveConf own = new HiveConf();
            for (String line : lines.split("\n")) {
                String[] pair = line.split("=", 2);
                own.set(pair[0], pair[1]);
            }
            HiveServer2 server = new HiveServer2();
            server.init(own);
            server.start();
        }
    }
}
