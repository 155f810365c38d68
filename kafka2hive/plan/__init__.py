"""The plan of an epoch, as pure functions: which tables are due, how much each may read, and which task reads what."""

from kafka2hive.plan.epoch import TableBacklog, is_due, plan_epoch

__all__ = ["TableBacklog", "is_due", "plan_epoch"]
