"""Names of take-over attempts, as a process of the product gives them to itself."""

from kafka2hive.service.process import HostProcesses, new_uuid, owner_name


def new_owner() -> str:
    """The name of an attempt of this very process."""
    return owner_name(HostProcesses().me(), new_uuid())
