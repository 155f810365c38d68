"""`kafka2hive recover`: roll forward without Spark, and the decisions of an operator."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, Level, Log, Map, Plan, Tables, Takeover
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP)

AcceptLoss = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-loss",
        metavar="PATH",
        help="Give up this lost file and continue; `*` matches any text (repeatable).",
    ),
]
Refetch = Annotated[
    list[str] | None,
    typer.Option(
        "--refetch",
        metavar="PATH",
        help="Read this lost file's records again from Kafka; `*` matches any text (repeatable).",
    ),
]
AcceptGap = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-gap",
        metavar="TOPIC:N",
        help="Accept the offsets that Kafka lost as a gap, and continue. TOPIC:* means all partitions (repeatable).",
    ),
]
ForgetRegistration = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--forget-registration",
        metavar="TABLE DIR",
        help="Give up registering a partition that Hive refuses. DIR is the partition's, such as dt=2013-01-17.",
    ),
]
AcceptLocation = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-location",
        metavar="TABLE",
        help="Write new files of this table to the map's changed location (repeatable).",
    ),
]
AcceptCluster = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-cluster",
        metavar="TABLE",
        help="Go on in the Kafka cluster that the map names now for this table (repeatable).",
    ),
]
ClusterOffsetsFile = Annotated[
    str | None,
    typer.Option(
        "--cluster-offsets",
        metavar="FILE",
        help="Where the tables of --accept-cluster go on in a mirror: a CSV file (topic, partition, old, new).",
    ),
]
ClusterAt = Annotated[
    str | None,
    typer.Option(
        "--cluster-at",
        metavar="TIME",
        help="Go on in a mirror at the first records from this time on.",
    ),
]
ClusterUnproven = Annotated[
    bool,
    typer.Option("--cluster-unproven", help="Go on in a mirror although no records can be compared."),
]
RebuildLedger = Annotated[
    str | None,
    typer.Option(
        "--rebuild-ledger", metavar="TABLE", help="Rebuild this table's lost ledger from its data files."
    ),
]


def recover(
    config: Map,
    plan: Plan = False,
    takeover: Takeover = False,
    table: Tables = None,
    accept_loss: AcceptLoss = None,
    refetch: Refetch = None,
    accept_gap: AcceptGap = None,
    forget_registration: ForgetRegistration = None,
    accept_location: AcceptLocation = None,
    accept_cluster: AcceptCluster = None,
    cluster_offsets: ClusterOffsetsFile = None,
    cluster_at: ClusterAt = None,
    cluster_unproven: ClusterUnproven = False,
    rebuild_ledger: RebuildLedger = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Roll every pending epoch forward to .final and say where the next run resumes. Starts no Spark and no JVM."""
    from kafka2hive.cli.render.recover import recover_document, render_recover
    from kafka2hive.cli.terminal.outcome import show, with_changes
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.kafka.positions import GapAcceptance
    from kafka2hive.service.recover.cluster_evidence import cluster_offsets_of
    from kafka2hive.service.recover.result import RecoverRequest, Registration
    from kafka2hive.service.recover.service import recover_service
    from kafka2hive.service.wiring import wire

    gaps = tuple(options.parse_option(GapAcceptance.parse, text, "--accept-gap") for text in accept_gap or ())
    request = RecoverRequest(
        plan_only=plan,
        take_over=takeover,
        tables=tuple(table or ()),
        accept_loss=tuple(accept_loss or ()),
        refetch=tuple(refetch or ()),
        accept_gap=gaps,
        rebuild=rebuild_ledger,
        forget=(Registration(*forget_registration),) if forget_registration else (),
        accept_location=tuple(accept_location or ()),
        accept_cluster=tuple(accept_cluster or ()),
    )

    def command(service_map: ServiceMap) -> int:
        offsets = cluster_offsets_of(cluster_offsets, cluster_at, unproven=cluster_unproven)
        with shown_progress(color) as progress:
            result = recover_service(wire(service_map, progress), replace(request, cluster_offsets=offsets))
        name, hive = service_map.service, service_map.hive is not None
        document = partial(recover_document, name, request.plan_only, result)
        show(json, color, document, partial(render_recover, name, request, result, hive=hive))
        return int(result.exit_code)

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
