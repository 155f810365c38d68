"""The beginning of a run: the JVM is launched first; imports and the first looks happen while it starts."""

import logging

from kafka2hive.config.keys import ServiceMap
from kafka2hive.service.run.result import RunRequest, RunResult, exit_code
from kafka2hive.service.run.signals import Interrupted, StopSignals, is_interruption
from kafka2hive.spark.jvm import launched

log = logging.getLogger(__name__)


def begin(service_map: ServiceMap, request: RunRequest) -> RunResult:
    """Run the service. A signal before Spark's session exists ends the run at once, before it changes anything.

    If the run ends before it connects to the JVM, the JVM is killed. Raises what `Run.run` raises.
    """
    signals = StopSignals()
    signals.listen()
    try:
        with launched(service_map.spark, service_map.service) as jvm:
            signals.interrupt()  # not earlier: an interrupt must be able to kill the JVM
            # these imports take half a second
            from kafka2hive.service.run.service import Run
            from kafka2hive.service.wiring import wire

            return Run(wire(service_map), request, jvm, signals).run()
    except (Interrupted, SystemError) as error:
        if not is_interruption(error):
            raise
        log.info("interrupted while Spark started: nothing was changed")
        return RunResult(exit_code(None, signals.number, ()), None, ())
