"""The FileSystem port and its adapters (HDFS, local disk)."""
