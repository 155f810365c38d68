"""The chores of a run, in the order of their steps. A new chore gets its place here, with the reason for it."""

from kafka2hive.service.chores.chores import Chores
from kafka2hive.service.chores.port import HiveLooks, TableOwner
from kafka2hive.service.compaction.chore import CompactionChore
from kafka2hive.service.compaction.retirement import RetirementChore
from kafka2hive.service.replay.chore import ReplayChore
from kafka2hive.service.retention.chore import RetentionChore
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.wiring import Wiring


def chores_of_a_run(
    wiring: Wiring, owner: TableOwner, hive: HiveLooks, reporter: Reporter, *, once: bool
) -> Chores:
    """Return the chores. `once`: the run ends when it has read what waits, so steps need not leave time to epochs."""
    retention = RetentionChore(wiring, owner, hive)
    replay = ReplayChore(wiring, owner, once=once)
    compaction = CompactionChore(wiring, owner, reporter)
    retirement = RetirementChore(wiring, owner, hive)
    return Chores(
        in_order=(
            retention,  # before the next letters are chosen, because letters that have expired are left out
            replay,  # before compaction for no reason: they share nothing
            compaction,  # after retention, which drops nothing that is still early
            retirement,  # after the moves, which decide which places are early
        ),
        ordered=(replay, compaction),
        looking=(retention, retirement),
        with_tasks=(replay,),
        with_jobs=(compaction,),
    )
