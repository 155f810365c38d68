import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.MetaStoreEventListener;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterPartitionEvent;
import org.apache.hadoop.hive.metastore.events.DropPartitionEvent;

/** A listener of the metastore, as the one is that feeds engines: a line for each partition of an event. PRESENT: not added. */
public class EventLines extends MetaStoreEventListener {
    public EventLines(Configuration configuration) {
        super(configuration);
    }

    @Override
    public void onAddPartition(AddPartitionEvent event) throws MetaException {
        event.getPartitionIterator().forEachRemaining(partition -> write(event.getStatus() ? "ADD" : "PRESENT", partition));
    }

    @Override
    public void onAlterPartition(AlterPartitionEvent event) throws MetaException {
        write("ALTER", event.getNewPartition());
    }

    @Override
    public void onDropPartition(DropPartitionEvent event) throws MetaException {
        event.getPartitionIterator().forEachRemaining(partition -> write("DROP", partition));
    }

    private static synchronized void write(String what, Partition partition) {
        String line = what + " " + partition.getTableName() + " " + String.join("/", partition.getValues())
                + " " + partition.getSd().getLocation() + "\n";
        try {
            Files.writeString(Path.of(System.getProperty("event.lines")), line,
                    StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
