{# models/flights_of_day.sql: a second run for a day replaces its rows #}
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['dt']) }}
select count(*) as flights, dt from air.flights where dt = '{{ var("day") }}' group by dt
