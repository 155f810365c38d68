import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneId;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs the statements of a file in a mini cluster in this JVM, each to its end.
 *
 * <p>Arguments: the file, statements separated by lines of `;`, then Flink's configuration as key=value.
 */
public final class Peer {
  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    for (int i = 1; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      configuration.setString(pair[0], pair[1]);
    }
    EnvironmentSettings settings = EnvironmentSettings.newInstance().withConfiguration(configuration).build();
    TableEnvironment tables = TableEnvironment.create(settings);
    tables.getConfig().setLocalTimeZone(ZoneId.of("UTC"));
    for (String statement : Files.readString(Path.of(arguments[0])).split("\n;\n")) {
      TableResult result = tables.executeSql(statement);
      if (result.getJobClient().isPresent()) {
        result.await();
      }
    }
    System.exit(0); // threads of the mini cluster would keep the JVM
  }
}
