"""OpenLineage events: a listener of a run tells a lineage server which topics became which tables."""
