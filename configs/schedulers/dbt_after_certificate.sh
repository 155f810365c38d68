#!/bin/sh
# Run dbt for a day once the Hive partition of that day is complete; cron:
#   15 1 * * *  KAFKA2HIVE_MAP=/etc/kafka2hive/flights.yaml dbt_after_certificate.sh $(date -u -d yesterday +\%F)
set -eu
day=$1
# waits at most 6 hours; another exit code than 0 ends the script with it (75: not complete in time)
kafka2hive certificate "air.flights/dt=$day" -c "$KAFKA2HIVE_MAP" --wait 6h
dbt run --select flights_of_day --vars "{day: '$day'}"
