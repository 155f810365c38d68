"""What a Hadoop process reads: site XML, logging, and the empty web folders without which it will not start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tests.services.jvm import java_command

NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"

LOGGING = """log4j.rootLogger=WARN,C
log4j.appender.C=org.apache.log4j.ConsoleAppender
log4j.appender.C.target=System.err
log4j.appender.C.layout=org.apache.log4j.PatternLayout
log4j.appender.C.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode=INFO
"""

# What a DataNode then says when a NameNode has taken it in. (The NameNode itself counts a dead one as live for
# another 14 s, so that it cannot tell a DataNode that was just started again from its predecessor.)
DATANODE_REGISTERED = "successfully registered with NN"


def write_site(path: Path, properties: Mapping[str, str]) -> None:
    """Write a `*-site.xml` with these properties."""
    lines = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")


# Of the single HDFS and the HA pair: one replica, DataNode death noticed after 14 s, no safe-mode delay,
# no background scans. The close delay of hdfs-native against a stock DataNode stays: users have it too.
_DAEMON_PROPERTIES = {
    "dfs.replication": "1",
    "dfs.datanode.hostname": "127.0.0.1",
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.heartbeat.recheck-interval": "2000",
    "dfs.namenode.stale.datanode.interval": "6000",
    "dfs.namenode.safemode.extension": "0",
    "dfs.namenode.safemode.min.datanodes": "1",
    "dfs.namenode.handler.count": "8",
    "dfs.namenode.fs-limits.min-block-size": "1024",
    "dfs.datanode.directoryscan.interval": "-1",
    "dfs.block.scanner.volume.bytes.per.second": "0",
    "dfs.datanode.du.reserved": "0",
}

# What hdfs-native is given: a NameNode that is away is asked again soon and for a minute, not for three.
CLIENT_PROPERTIES = {
    "dfs.client.failover.max.attempts": "60",
    "dfs.client.failover.sleep.base.millis": "50",
    "dfs.client.failover.sleep.max.millis": "1000",
}


def hadoop_command(folder: Path, *options: str) -> list[str]:
    """A JVM of Hadoop that reads `folder/conf`; the main class is to follow."""
    return java_command("hdfs", 384, f"-Dhadoop.home.dir={folder}", *options)


def write_configuration(
    folder: Path, url: str, datanode_ports: Sequence[int], core: Mapping[str, str], hdfs: Mapping[str, str]
) -> None:
    """Write what NameNode, DataNode and JournalNode of this HDFS read; `core` and `hdfs` are added to the site files."""
    conf = folder / "conf"
    for web in ("hdfs", "datanode", "journal"):
        (conf / "webapps" / web).mkdir(parents=True, exist_ok=True)
    (conf / "log4j.properties").write_text(LOGGING)
    data, ipc, http = datanode_ports
    own = {
        "dfs.datanode.data.dir": f"file://{folder}/data/dn",
        "dfs.datanode.address": f"127.0.0.1:{data}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
        "dfs.datanode.http.address": f"127.0.0.1:{http}",
    }
    write_site(conf / "core-site.xml", {"fs.defaultFS": url, "hadoop.tmp.dir": f"{folder}/data", **core})
    write_site(conf / "hdfs-site.xml", own | _DAEMON_PROPERTIES | dict(hdfs))
