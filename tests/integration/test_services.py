"""The real services that the other tests stand on do what those tests take for granted."""

import io
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdfs_native import WriteOptions

from tests.harness.waiting import wait_until
from tests.services.consume import stored_in
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hdfs_ha import Failover, HdfsHa
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


def test_every_flight_that_was_acknowledged_is_read_back_from_its_place(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique, 4)
    sent = flights()[:30_000]
    stored = produce(kafka.bootstrap, unique, sent, 4)
    assert len(stored) == len(sent)
    assert {partition for _, partition, _ in stored} == set(range(4))
    assert stored_in(kafka.bootstrap, [(unique, n) for n in range(4)]) == stored


def test_a_killed_broker_comes_back_with_its_records_at_the_same_address(
    kafka_to_kill: KafkaBroker, unique: str
) -> None:
    broker, address = kafka_to_kill, kafka_to_kill.bootstrap
    broker.create_topic(unique, partitions=2)
    stored = produce(address, unique, [b"a", b"b", None, b"c"], partitions=2)
    broker.kill()
    assert not broker.service.is_running
    broker.start()
    assert broker.bootstrap == address
    assert stored_in(address, [(unique, 0), (unique, 1)]) == stored


def test_hdfs_keeps_what_was_written_and_renamed(hdfs: Hdfs, unique: str) -> None:
    client = hdfs.client()
    payload = random.Random(1).randbytes(300_000)
    client.mkdirs(f"/{unique}/a", create_parent=True)
    writer = client.create(f"/{unique}/a/x.pending", WriteOptions(create_parent=False))
    writer.write(payload)
    writer.close()
    client.rename(f"/{unique}/a/x.pending", f"/{unique}/a/x.final")
    assert [Path(entry.path).name for entry in client.list_status(f"/{unique}/a")] == ["x.final"]
    with client.read(f"/{unique}/a/x.final") as reader:
        assert reader.read() == payload
    with pytest.raises(FileExistsError):
        client.create(f"/{unique}/a/x.final", WriteOptions(create_parent=False))


def test_a_suspended_and_a_killed_namenode_come_back_with_their_files(hdfs_to_kill: Hdfs) -> None:
    hdfs = hdfs_to_kill
    client = hdfs.client()
    client.mkdirs("/kept")
    hdfs.namenode.suspend()
    hdfs.namenode.resume()
    assert client.get_file_info("/kept").isdir
    hdfs.namenode.kill()
    hdfs.start_namenode()
    assert hdfs.client().get_file_info("/kept").isdir
    hdfs.datanode.kill()
    hdfs.start_datanode()
    writer = hdfs.client().create("/kept/file", WriteOptions())
    writer.write(b"after the restart")
    writer.close()
    assert hdfs.client().get_file_info("/kept/file").length == 17


def test_a_quota_and_permissions_are_enforced(hdfs_to_kill: Hdfs) -> None:
    hdfs = hdfs_to_kill
    client = hdfs.client()
    client.mkdirs("/small")
    hdfs.set_quota("/small", names=2)
    client.mkdirs("/small/one")
    with pytest.raises(RuntimeError, match="NSQuotaExceeded"):
        client.mkdirs("/small/two")
    hdfs.clear_quota("/small")
    client.mkdirs("/small/two")
    program = f"import hdfs_native; hdfs_native.Client({hdfs.namenode_url!r}).mkdirs('/small/three')"
    untracked_file = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HADOOP_USER_NAME": "untracked file"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "AccessControlException" in untracked_file.stderr or "PermissionError" in untracked_file.stderr


@pytest.mark.parametrize("how", Failover)
def test_files_survive_a_failover(hdfs_ha: HdfsHa, how: Failover, unique: str) -> None:
    client = hdfs_ha.client()
    client.mkdirs(f"/{unique}")
    old = hdfs_ha.active
    new = hdfs_ha.failover(how)
    assert new != old
    # A suspended NameNode answers nothing for ever, so after STOP only a client without a connection to it
    # that asks the active one first would go on; the tests bring the old one back before they look.
    if how is not Failover.GRACEFUL:
        hdfs_ha.revive(old)
    assert hdfs_ha.active == new
    writer = hdfs_ha.client().create(f"/{unique}/after", WriteOptions(create_parent=False))
    writer.write(b"x" * 1000)
    writer.close()
    assert hdfs_ha.client().get_file_info(f"/{unique}/after").length == 1000


def test_hive_answers(hive: HiveServer) -> None:
    assert hive.query("select 1") == [(1,)]


def test_hive_reads_final_parquet_files_of_the_partitions_it_was_told_about(
    hive: HiveServer, hdfs: Hdfs, hive_database: str
) -> None:
    client = hdfs.client()
    root = f"/warehouse-test/{hive_database}/flights"
    for day, numbers in (("2013-01-01", [1, 2, 3]), ("2013-01-02", [4])):
        folder = f"{root}/dt={day}"
        client.mkdirs(folder, create_parent=True)
        for name, rows in ((f"{day}.parquet.final", numbers), ("_unseen.parquet", [99])):
            sink = io.BytesIO()
            pq.write_table(pa.table({"number": pa.array(rows, pa.int64())}), sink, compression="zstd")
            writer = client.create(f"{folder}/{name}", WriteOptions())
            writer.write(sink.getvalue())
            writer.close()
    table = f"{hive_database}.flights"
    hive.query(
        f"create external table {table} (number bigint) partitioned by (dt string) stored as parquet "
        f"location '{hdfs.namenode_url}{root}'",
        f"alter table {table} add if not exists partition (dt='2013-01-01') location "
        f"'{hdfs.namenode_url}{root}/dt=2013-01-01' partition (dt='2013-01-02') location "
        f"'{hdfs.namenode_url}{root}/dt=2013-01-02'",
    )
    assert hive.query(f"select dt, count(*), sum(number) from {table} group by dt order by dt") == [
        ("2013-01-01", 3, 6),
        ("2013-01-02", 1, 4),
    ]


def test_services_end_when_the_test_process_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from tests.services.service_process import ServiceProcess
        service = ServiceProcess("sleeper", ["sleep", "600"], Path(sys.argv[1]))
        service.start()
        print(service.pid, flush=True)
        sys.stdin.read()
        """
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        os.kill(pid, 0)  # it lives
        run.kill()
    wait_until(lambda: not _is_alive(pid), "gone", 240)


def _is_alive(pid: int) -> bool:
    """A process that has ended but was not waited for (by init) does not count."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip() != "" and not done.stdout.startswith("Z")
