"""What Avro and Protobuf share: the heads that name schemas, exact numbers, and times finer than a microsecond."""
