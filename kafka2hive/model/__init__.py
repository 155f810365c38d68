"""Values that all rooms use. Pure: no I/O and no clock."""
