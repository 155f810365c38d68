"""Values that all packages use. Pure: no I/O and no clock."""
