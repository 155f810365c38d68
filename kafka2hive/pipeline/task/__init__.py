"""The task: planned offset ranges in, files under their tables' staging directories and manifests out."""

from kafka2hive.pipeline.task.dead_letters import DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS
from kafka2hive.pipeline.task.run import run_task

__all__ = ["DEAD_LETTER_COLUMNS", "DEAD_LETTER_PARTITIONS", "run_task"]
