"""The running service: the epoch loop, the tables it owns, their backlogs, manifests and metrics."""
