"""What a killed first start leaves in a table's directory, means nothing, and nobody sweeps."""

from tests.oracle.tree import Tree


def take_marker_drafts_away(tree: Tree, location: str, *, empty_only: bool = False) -> int:
    """Delete drafts of the owner marker; gives how many there were."""
    drafts = [
        path
        for path, length in tree.files(location).items()
        if not (empty_only and length)
        if path.startswith(f"{location}/_kafka2hive_owner.") and path.endswith(".in-progress")
    ]
    for path in drafts:
        tree.delete(path)
    return len(drafts)
