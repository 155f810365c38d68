"""The sections of Kafka, Hive, the schema registry and Kerberos, and the keys of the service itself."""
