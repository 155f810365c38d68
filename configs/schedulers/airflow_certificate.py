"""Airflow 3: each day, wait until the Hive partition of the day before is complete, then read it.

The variable `kafka2hive_map` is the path of the map, and the workers have `kafka2hive` on their PATH.
"""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.sdk import DAG

DAY = "{{ macros.ds_add(ds, -1) }}"

with DAG("daily_report", schedule="@daily", start_date=datetime(2020, 1, 1), catchup=False):
    complete = BashSensor(
        task_id="complete",
        # 75: not yet; 69: HDFS or Hive does not answer; any other code means that waiting does not help
        bash_command=f"""
            kafka2hive certificate air.flights/dt={DAY} -c {{{{ var.value.kafka2hive_map }}}}
            code=$?; [ $code = 69 ] && exit 75; exit $code
        """,
        retry_exit_code=75,
        mode="reschedule",
        poke_interval=60,
        timeout=6 * 3600,
    )
    complete >> BashOperator(task_id="report", bash_command=f"spark-submit report.py {DAY}")
