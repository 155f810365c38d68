"""The dashboard for Grafana: `scripts/pages` writes it, and the tests ask promtool for the data of each panel."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.timeseries import Panel as Timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

SERVICE = 'job=~"$job", instance=~"$instance"'
TABLE = f'{SERVICE}, table=~"$table"'
_SOURCE = DataSourceRef(type_val="prometheus", uid="$datasource")


@dataclass(frozen=True, slots=True)
class Graph:
    """A panel over time. `queries` are PromQL expressions with the legends of their series."""

    title: str
    description: str
    unit: str
    queries: Sequence[tuple[str, str]]
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A panel with one number, which is yellow from `warning` on and red from `critical` on."""

    title: str
    description: str
    unit: str
    query: str
    warning: float | None = None
    critical: float | None = None


def _by_table(function: str, metric: str) -> tuple[str, str]:
    return f"{function} by (table) (kafka2hive_{metric}{{{TABLE}}})", "{{table}}"


def _rate_by_table(metric: str, legend: str = "{{table}}", label: str = "table") -> tuple[str, str]:
    return f"sum by ({label}) (rate(kafka2hive_{metric}{{{TABLE}}}[$__rate_interval]))", legend


FIGURES = (
    Figure(
        "Since the last epoch",
        "Time since a run last published an epoch, or began; the worst service.",
        "s",
        f"max(time() - kafka2hive_last_epoch_timestamp_seconds{{{SERVICE}}})",
        300,
        900,
    ),
    Figure(
        "Stalest table",
        "How long records may have waited for the table that is furthest behind.",
        "s",
        f"max(kafka2hive_freshness_seconds{{{TABLE}}})",
        600,
        3600,
    ),
    Figure(
        "Records waiting",
        "Records in Kafka that tables do not show yet.",
        "short",
        f"sum(kafka2hive_lag_records{{{TABLE}}})",
    ),
    Figure(
        "Tables set aside",
        "Tables whose error the run retries; `kafka2hive status` says why.",
        "short",
        f"sum(kafka2hive_tables_set_aside{{{SERVICE}}})",
        None,
        1,
    ),
    Figure(
        "Services that do not answer",
        "Kafka, HDFS, HiveServer2 or the registry did not answer a run's last request.",
        "short",
        f"sum(kafka2hive_service_unavailable{{{SERVICE}}})",
        None,
        1,
    ),
    Figure(
        "Files unaccounted for",
        "Created files that are neither renamed nor in their place: a bug.",
        "short",
        f"sum(kafka2hive_unaccounted_files{{{TABLE}}})",
        None,
        1,
    ),
    Figure(
        "Topics refused",
        "Topics that a pattern of a map matches and no table reads.",
        "short",
        f"sum(kafka2hive_topics_refused{{{SERVICE}}})",
        1,
    ),
    Figure(
        "Tables paused",
        "Tables that an operator has paused.",
        "short",
        f"sum(kafka2hive_paused{{{TABLE}}})",
        1,
    ),
)

ROWS: Sequence[tuple[str, Sequence[Graph]]] = (
    (
        "Lag",
        (
            Graph("Records waiting", "By table.", "short", [_by_table("sum", "lag_records")]),
            Graph(
                "Freshness",
                "How long records may have waited, by table; 0 if nothing waits.",
                "s",
                [_by_table("max", "freshness_seconds")],
            ),
            Graph(
                "Objectives missed",
                "With `objective`: the share of the time in which the table was staler than it may be; the other line is what it"
                " may be.",
                "percentunit",
                [
                    (
                        "sum by (table) (rate(kafka2hive_objective_seconds_total"
                        f'{{{TABLE}, outcome="missed"}}[$__rate_interval]))'
                        f" / sum by (table) (rate(kafka2hive_objective_seconds_total{{{TABLE}}}[$__rate_interval]))",
                        "{{table}}",
                    ),
                    (f"1 - max by (table) (kafka2hive_objective_share{{{TABLE}}})", "{{table}} may be"),
                ],
            ),
            Graph(
                "Objective",
                "With `objective`: how long a record may wait, by table.",
                "s",
                [_by_table("max", "objective_freshness_seconds")],
            ),
            Graph(
                "Held back by open transactions",
                "Records behind a producer's open transaction, by table.",
                "short",
                [_by_table("sum", "held_back_records")],
            ),
            Graph(
                "Oldest open transaction",
                "How long a transaction has held records of the table back.",
                "s",
                [_by_table("max", "open_transaction_seconds")],
            ),
        ),
    ),
    (
        "Throughput",
        (
            Graph(
                "Records",
                "Records read and committed, by table.",
                "cps",
                [_rate_by_table("records_total")],
                True,
            ),
            Graph(
                "Bytes",
                "Bytes of the records' values, by table.",
                "Bps",
                [_rate_by_table("bytes_total")],
                True,
            ),
            Graph(
                "Dead letters",
                "Records committed to the dead-letter table, by table.",
                "cps",
                [_rate_by_table("dead_letters_total")],
            ),
            Graph(
                "Late and out of range",
                "Dead letters that came late, and those whose event time is out of bounds.",
                "cps",
                [
                    _rate_by_table("late_records_total", "{{table}}, late"),
                    _rate_by_table("out_of_range_records_total", "{{table}}, out of range"),
                ],
            ),
        ),
    ),
    (
        "Epochs",
        (
            Graph(
                "Mean duration of the phases",
                "Seconds of an epoch, by phase.",
                "s",
                [
                    (
                        f"sum by (phase) (rate(kafka2hive_epoch_phase_seconds_sum{{{SERVICE}}}[$__rate_interval]))"
                        f" / sum by (phase) (rate(kafka2hive_epoch_phase_seconds_count{{{SERVICE}}}[$__rate_interval]))",
                        "{{phase}}",
                    )
                ],
                True,
            ),
            Graph(
                "Slow epochs",
                "The duration that 95 % of the epochs stay below, by phase.",
                "s",
                [
                    (
                        "histogram_quantile(0.95, sum by (le, phase)"
                        f" (rate(kafka2hive_epoch_phase_seconds_bucket{{{SERVICE}}}[$__rate_interval])))",
                        "{{phase}}",
                    )
                ],
            ),
            Graph(
                "Epochs",
                "Epochs published, by service.",
                "cps",
                [
                    (
                        f"sum by (instance) (rate(kafka2hive_epochs_total{{{SERVICE}}}[$__rate_interval]))",
                        "{{instance}}",
                    )
                ],
            ),
            Graph(
                "Tasks",
                "Spark tasks of the last epoch, and the most that an epoch may have.",
                "short",
                [
                    (f"max by (instance) (kafka2hive_epoch_tasks{{{SERVICE}}})", "{{instance}}"),
                    (f"max by (instance) (kafka2hive_epoch_tasks_limit{{{SERVICE}}})", "{{instance}}, limit"),
                ],
            ),
        ),
    ),
    (
        "HDFS and Hive",
        (
            Graph("Files created", "By table.", "cps", [_rate_by_table("files_created_total")], True),
            Graph(
                "Moves by outcome",
                "Renames to `.final`: done, already done by an earlier attempt, tried again; or the file was missing.",
                "cps",
                [_rate_by_table("moves_total", "{{outcome}}", "outcome")],
            ),
            Graph(
                "Hive partitions not registered",
                "Partitions with data that queries do not see, by table.",
                "short",
                [_by_table("sum", "unregistered_partitions")],
            ),
            Graph(
                "Locations corrected",
                "Locations in Hive that another statement had set back, by table.",
                "cps",
                [_rate_by_table("locations_corrected_total")],
            ),
        ),
    ),
    (
        "Complete partitions and compaction",
        (
            Graph(
                "Not read through",
                "Time since the moment up to which everything that Kafka held is committed, by table.",
                "s",
                [
                    (
                        f"time() - max by (table) (kafka2hive_read_through_timestamp_seconds{{{TABLE}}})",
                        "{{table}}",
                    )
                ],
            ),
            Graph(
                "Open partitions",
                "Hive partitions with files that no certificate counts, by table.",
                "short",
                [_by_table("sum", "open_partitions")],
            ),
            Graph(
                "Partitions withheld from Hive",
                "Hive partitions with files that Hive does not have before their certificate, by table.",
                "short",
                [_by_table("sum", "withheld_partitions")],
            ),
            Graph(
                "Certificates unwritten",
                "Complete partitions whose certificates could not be written, by table.",
                "short",
                [_by_table("sum", "uncertified_partitions")],
            ),
            Graph(
                "Compactions",
                "Hive partitions that the run compacted, and tries that failed.",
                "cps",
                [_rate_by_table("compactions_total", "{{outcome}}", "outcome")],
            ),
        ),
    ),
    (
        "Decoding",
        (
            Graph(
                "Values changed",
                "Values that the leeway of the map's columns changed, by the column's key.",
                "cps",
                [_rate_by_table("changed_values_total", "{{kind}}", "kind")],
            ),
            Graph(
                "Rules broken",
                "Rows that broke a rule of the map, by rule and column.",
                "cps",
                [_rate_by_table("broken_rules_total", "{{rule}} of {{column}}", "rule, column")],
            ),
            Graph(
                "Marks of change logs",
                "Heartbeats, watermarks and other messages that are skipped, and truncations, by kind.",
                "cps",
                [_rate_by_table("change_log_marks_total", "{{kind}}", "kind")],
            ),
            Graph(
                "Fields without a column",
                "JSON fields since the start that no column takes, by table.",
                "short",
                [_by_table("max", "unmapped_fields")],
            ),
            Graph(
                "Columns never filled",
                "Columns that no record has filled since the start, by table.",
                "short",
                [_by_table("sum", "never_filled_columns")],
            ),
            Graph(
                "News",
                "Pieces of news that receivers took or did not take, in a minute, by receiver.",
                "short",
                [
                    (
                        f"sum by (receiver) (rate(kafka2hive_news_told_total{{{SERVICE}}}[$__rate_interval])) * 60",
                        "{{receiver}}",
                    ),
                    (
                        f"sum by (receiver, code) (rate(kafka2hive_news_failures_total{{{SERVICE}}}[$__rate_interval])) * 60",
                        "{{receiver}}: {{code}}",
                    ),
                ],
            ),
            Graph(
                "News that wait",
                "Pieces of news that a receiver has not taken.",
                "short",
                [(f"max by (receiver) (kafka2hive_news_waiting{{{SERVICE}}})", "{{receiver}}")],
            ),
            Graph(
                "Silent receivers",
                "For how long a receiver has taken no news.",
                "s",
                [(f"max by (receiver) (kafka2hive_news_silent_seconds{{{SERVICE}}})", "{{receiver}}")],
            ),
            Graph(
                "Map that differs",
                "1: the map's file has another text than the map that the run has, which a reload or a restart would take.",
                "short",
                [(f"max by (instance) (kafka2hive_map_differs{{{SERVICE}}})", "{{instance}}")],
            ),
            Graph(
                "Maps",
                "Which map each run has, by the first digits of the SHA-256 of its text.",
                "short",
                [
                    (
                        f"max by (instance, fingerprint) (kafka2hive_map_info{{{SERVICE}}})",
                        "{{instance}}: {{fingerprint}}",
                    )
                ],
            ),
            Graph(
                "Reloads",
                "Requests to reload the map, by outcome.",
                "short",
                [
                    (
                        f"sum by (outcome) (increase(kafka2hive_reloads_total{{{SERVICE}}}[$__rate_interval]))",
                        "{{outcome}}",
                    )
                ],
            ),
            Graph(
                "Compiled decoder",
                "1: the service decodes with the compiled library; 0: in Python, slowly.",
                "short",
                [(f"min by (instance) (kafka2hive_decoder_compiled{{{SERVICE}}})", "{{instance}}")],
            ),
        ),
    ),
)


def expressions() -> Iterator[tuple[str, str]]:
    """Yield each panel's title and PromQL expression, with Grafana's variables."""
    for figure in FIGURES:
        yield figure.title, figure.query
    for _, graphs in ROWS:
        for graph in graphs:
            for expression, _ in graph.queries:
                yield graph.title, expression


def dashboard() -> str:
    """The dashboard as JSON, which Grafana 11 and newer import."""
    board = (
        Dashboard("kafka2hive")
        .uid("kafka2hive")
        .description("Kafka topics into Hive tables: lag, throughput, epochs, and what needs a person.")
        .tags(["kafka", "hive"])
        .readonly()
        .refresh("1m")
        .time("now-6h", "now")
        .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("job", "job", "label_values(kafka2hive_service_info, job)"))
        .with_variable(
            _variable("instance", "instance", 'label_values(kafka2hive_service_info{job=~"$job"}, instance)')
        )
        .with_variable(
            _variable("table", "table", f"label_values(kafka2hive_ledger_epoch{{{SERVICE}}}, table)")
        )
    )
    for figure in FIGURES:
        board.with_panel(_figure(figure))
    for title, graphs in ROWS:
        board.with_row(Row(title))
        for graph in graphs:
            board.with_panel(_graph(graph))
    return json.dumps(json.loads(JSONEncoder(sort_keys=True).encode(board.build())), indent=1) + "\n"


def _variable(name: str, label: str, query: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(label)
        .query(query)
        .datasource(_SOURCE)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".+")
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _query(expression: str, legend: str, ref: str) -> Dataquery:
    return Dataquery().expr(expression).legend_format(legend).ref_id(ref).datasource(_SOURCE)


def _figure(figure: Figure) -> Stat:
    steps = [Threshold(value=None, color="green")]
    for color, bound in (("yellow", figure.warning), ("red", figure.critical)):
        if bound is not None:
            steps.append(Threshold(value=bound, color=color))
    return (
        Stat()
        .title(figure.title)
        .description(figure.description)
        .unit(figure.unit)
        .datasource(_SOURCE)
        .with_target(_query(figure.query, "", "A"))
        .thresholds(ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.AREA)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .span(6)
        .height(4)
    )


def _graph(graph: Graph) -> Timeseries:
    panel = (
        Timeseries()
        .title(graph.title)
        .description(graph.description)
        .unit(graph.unit)
        .datasource(_SOURCE)
        .min(0)
        .fill_opacity(10)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
        .span(6)
        .height(7)
    )
    if graph.stacked:
        panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
    for number, (expression, legend) in enumerate(graph.queries):
        panel.with_target(_query(expression, legend, "ABCDEF"[number]))
    return panel
