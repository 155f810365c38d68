"""From rows to whole, synced, staged files within the limits of memory and open files."""
