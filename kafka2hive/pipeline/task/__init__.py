"""The task: planned offset ranges in, files under their tables' staging directories and manifests out."""

from kafka2hive.pipeline.task.run import run_task

__all__ = ["run_task"]
