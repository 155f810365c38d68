import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, where a query of HiveServer2 has its plan and its jars.
 *
 * <p>Without Hadoop's native library, Hadoop starts a process for the permissions of each file that it makes (25 in a
 * query), and each query copies the jar of Hive: together half of its CPU seconds. Here the JVM sets permissions, and a
 * copy of a local file is a link to it.
 */
public class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    @Override
    public void copyFromLocalFile(boolean deleteSource, Path source, Path target) throws IOException {
        if (deleteSource || !pathToFile(source).isFile() || pathToFile(target).isDirectory()) {
            super.copyFromLocalFile(deleteSource, source, target);
        } else {
            mkdirs(target.getParent());
            Files.createSymbolicLink(pathToFile(target).toPath(), pathToFile(source).toPath().toAbsolutePath());
        }
    }

    private static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Set<PosixFilePermission> granted = EnumSet.noneOf(PosixFilePermission.class);
            PosixFilePermission[] all = PosixFilePermission.values(); // from OWNER_READ, the highest bit, on
            for (int bit = 0; bit < all.length; bit++) {
                if ((permission.toShort() & 0400 >> bit) != 0) {
                    granted.add(all[bit]);
                }
            }
            Files.setPosixFilePermissions(pathToFile(path).toPath(), granted);
        }
    }
}
