"""What the tasks are told, from the map."""

from kafka2hive.config.values import ServiceMap
from kafka2hive.pipeline.values import TableSettings, TaskSettings

STALL_SECONDS = 300.0


def task_settings(service_map: ServiceMap, tables: dict[str, TableSettings]) -> TaskSettings:
    """`tables` stays the caller's: what is added to it reaches the tasks of the next epoch."""
    return TaskSettings(
        kafka=service_map.kafka.properties,
        storage=service_map.storage,
        tables=tables,
        dead_letter_table=service_map.dead_letters.table,
        dead_letter_location=service_map.dead_letters.location,
        file_bytes=service_map.limits.file_bytes,
        open_files=service_map.limits.open_files,
        memory_bytes=service_map.limits.task_memory_bytes,
        stall_seconds=STALL_SECONDS,
    )
