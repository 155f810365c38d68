"""Write rows into complete, synced, staged files within the limits on memory and open files."""
