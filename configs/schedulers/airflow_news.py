"""Airflow 3.3: start `report` once for each Hive partition that kafka2hive says is complete.

The connection `kafka_default` has the brokers, a group id, and the extras that docs/schedulers.md names.
"""

import json
from datetime import timedelta
from urllib.parse import quote

from airflow.providers.apache.kafka.triggers.shared_stream import KafkaSharedStreamTrigger
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, AssetWatcher, dag, task

NEWS = Asset(
    "kafka2hive_news",
    watchers=[AssetWatcher(name="topic", trigger=KafkaSharedStreamTrigger(topics=["kafka2hive.news"]))],
)


def run_id(news_id: str) -> str:
    """The same for the same piece of news; Airflow allows neither `/` nor `=` in it."""
    return quote(news_id, safe="").replace("%", "+")


@dag(schedule=[NEWS], default_args={"retries": 20, "retry_delay": timedelta(minutes=1)})
def kafka2hive_news() -> None:
    @task
    def complete_partitions(triggering_asset_events=None) -> list[dict]:
        news = [json.loads(event.extra["payload"]) for event in triggering_asset_events[NEWS]]
        return [
            {"trigger_run_id": run_id(each["id"]), "conf": each["data"]}
            for each in {each["id"]: each for each in news}.values()
            if each["type"] == "kafka2hive.partition.complete" and each["data"]["table"] == "air.flights"
        ]

    TriggerDagRunOperator.partial(
        task_id="start", trigger_dag_id="report", skip_when_already_exists=True
    ).expand_kwargs(complete_partitions())


@dag(schedule=None)
def report() -> None:
    BashOperator(task_id="report", bash_command="spark-submit report.py {{ dag_run.conf['values']['dt'] }}")


kafka2hive_news()
report()
