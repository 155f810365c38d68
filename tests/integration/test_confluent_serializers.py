"""Messages that confluent-kafka's own serializers write, with schemas that they register, become rows."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default
from google.type import latlng_pb2, money_pb2

from tests.harness.program import command, run_once
from tests.harness.service_map import write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}


def _types(namespace: str) -> tuple[Any, Any]:
    """A message Sale, which has fields of google/type and of a file of its own, and the Shop of that file."""
    pool = Default()
    shop = FileDescriptorProto(name=f"{namespace}/shop.proto", package=namespace, syntax="proto3")
    _field(shop.message_type.add(name="Shop"), 1, "name", FieldDescriptorProto.TYPE_STRING)
    sale = FileDescriptorProto(name=f"{namespace}/sale.proto", package=namespace, syntax="proto3")
    files = (money_pb2, latlng_pb2, timestamp_pb2)
    sale.dependency.extend([*(file.DESCRIPTOR.name for file in files), shop.name])
    message = sale.message_type.add(name="Sale")
    _field(message, 1, "id", FieldDescriptorProto.TYPE_INT64)
    kinds = ("google.type.Money", "google.type.LatLng", "google.protobuf.Timestamp", f"{namespace}.Shop")
    for number, (name, kind) in enumerate(zip(("price", "place", "at", "shop"), kinds, strict=True), 2):
        _field(message, number, name, FieldDescriptorProto.TYPE_MESSAGE).type_name = f".{kind}"
    for file in (shop, sale):
        pool.AddSerializedFile(file.SerializeToString())
    named = (pool.FindMessageTypeByName(f"{namespace}.{name}") for name in ("Sale", "Shop"))
    sale_class, shop_class = map(message_factory.GetMessageClass, named)
    return sale_class, shop_class


def _field(message: Any, number: int, name: str, kind: Any) -> Any:
    return message.field.add(number=number, name=name, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)


def _sales(client: SchemaRegistryClient, topic: str, namespace: str) -> list[bytes]:
    """A hundred messages in Protobuf, whose schemas the serializer registers."""
    sale, shop = _types(namespace)
    serializer = ProtobufSerializer(sale, client, {"use.deprecated.format": False})
    sales = [
        sale(
            id=number,
            price=money_pb2.Money(currency_code="EUR", units=number),
            place=latlng_pb2.LatLng(latitude=47.5),
            at=timestamp_pb2.Timestamp(seconds=1_700_000_000 + number),
            shop=shop(name=f"shop {number}"),
        )
        for number in range(100)
    ]
    return [serializer(one, SerializationContext(topic, MessageField.VALUE)) for one in sales]


def _places(client: SchemaRegistryClient, topic: str) -> list[bytes]:
    """Fifty records in Avro."""
    serializer = AvroSerializer(client, json.dumps(PLACE))
    places = [{"id": number, "name": f"place {number}"} for number in range(50)]
    return [serializer(one, SerializationContext(topic, MessageField.VALUE)) for one in places]


@pytest.mark.timeout(900)
def test_protobuf_and_avro_of_confluents_serializers_are_in_hive(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    topics = {"protobuf": f"{hive_database}.sales", "avro": f"{hive_database}.places"}
    for topic in topics.values():
        kafka.create_topic(topic, 2)
    with SchemaRegistryClient({"url": registry.url}) as client:
        in_protobuf, in_avro = (
            _sales(client, topics["protobuf"], hive_database),
            _places(client, topics["avro"]),
        )
    produce(kafka.bootstrap, topics["protobuf"], in_protobuf, 2)
    produce(kafka.bootstrap, topics["avro"], in_avro, 2)
    columns = {
        "protobuf": {
            "id": "bigint",
            "price": "struct<currency_code:string,units:bigint>",
            "place": "struct<latitude:double>",
            "at": "timestamp",
            "shop": "struct<name:string>",
        },
        "avro": {"id": "bigint", "name": "string"},
    }
    entries = [
        {
            "topics": [topic],
            "table": f"{hive_database}.{kind}_table",
            "format": kind,
            "columns": columns[kind],
            "start": "earliest",
            "bucket": {"time": "record"},
        }
        for kind, topic in topics.items()
    ]
    uri = f"{hdfs.namenode_url}/{hive_database}"
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        entries,
        hive={"url": f"hive://{hive.address}"},
        registry={"url": registry.url},
    )
    assert run_once(config).code == 0
    assert command("dead-letters list", config, "--json").document["groups"] == []
    sums = "count(*), sum(id), sum(price.units), sum(place.latitude), min(`at`), count(distinct shop.name)"
    assert hive.query(f"select {sums} from {hive_database}.protobuf_table") == [
        (100, 4950, 4950, 4750.0, datetime(2023, 11, 14, 22, 13, 20), 100)
    ]
    assert hive.query(f"select count(*), count(distinct name) from {hive_database}.avro_table") == [(50, 50)]
