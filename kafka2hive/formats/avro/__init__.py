"""Avro container files, as Hive's AvroSerDe reads them (docs/adr/0022-avro-files.md)."""
