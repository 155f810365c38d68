"""The plan of an epoch: which tables are due, how much each may take, and which Spark task reads what. Pure."""

from kafka2hive.plan.epoch import TableBacklog, is_due, plan_epoch

__all__ = ["TableBacklog", "is_due", "plan_epoch"]
