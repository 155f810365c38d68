"""Hive by the metastore's own (Thrift) interface, without HiveServer2."""
