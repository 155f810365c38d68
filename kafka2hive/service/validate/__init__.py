"""Asking the services of the map whether a run would work: all for `validate --online`, the quick part before a run."""
