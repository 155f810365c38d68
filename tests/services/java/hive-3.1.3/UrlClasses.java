import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * For {@code -Djava.system.class.loader=UrlClasses}: loads the class path by a URLClassLoader, as Java 8 did.
 *
 * <p>The sessions of Hive 3.1 cast the loader of their own class to one. The class path is read from its end: our classes come
 * before Hive's of the same name.
 */
public class UrlClasses extends URLClassLoader {
    public UrlClasses(ClassLoader application) throws MalformedURLException {
        super(urls(), application.getParent());
    }

    private static URL[] urls() throws MalformedURLException {
        String[] entries = System.getProperty("java.class.path").split(":");
        URL[] urls = new URL[entries.length];
        for (int i = 0; i < entries.length; i++) {
            urls[entries.length - 1 - i] = Path.of(entries[i]).toUri().toURL();
        }
        return urls;
    }
}
