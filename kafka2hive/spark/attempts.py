"""The attempts of an application on YARN: which ends need no further one, and how YARN is told."""

from kafka2hive.model.errors import ExitCode
from kafka2hive.spark.internals import gateway_of_process, launch_gateway

PERMANENT = frozenset({ExitCode.USAGE, ExitCode.OWNED, ExitCode.FENCED, ExitCode.STOP, ExitCode.CONFIG})
"""After these exit codes another attempt would end in the same way, or compete with another run; as in the systemd unit."""


def fail_permanently(code: int) -> None:
    """Report the application as failed to YARN, which then starts no further attempt.

    Spark's application master does this only in the last attempt. Raises py4j's errors.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types

    java = (gateway_of_process() or launch_gateway()).jvm
    yarn = java.org.apache.hadoop.yarn
    client = yarn.client.api.AMRMClient.createAMRMClient()
    client.init(yarn.conf.YarnConfiguration())
    client.start()
    try:
        client.registerApplicationMaster("", 0, "")
    except Py4JJavaError:
        pass  # Spark has registered it, which it does as soon as there is a session
    failed = yarn.api.records.FinalApplicationStatus.FAILED
    client.unregisterApplicationMaster(failed, f"kafka2hive ended with exit code {code}", "")
    client.stop()
