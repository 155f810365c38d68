"""The values every room speaks in. Pure: no I/O, no clock, no third-party imports."""
