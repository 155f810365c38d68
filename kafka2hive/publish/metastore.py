"""The Metastore port, where publishing looks for it."""

from kafka2hive.model.metastore import Metastore, MetastoreRefused, MetastoreUnavailable

__all__ = ["Metastore", "MetastoreRefused", "MetastoreUnavailable"]
