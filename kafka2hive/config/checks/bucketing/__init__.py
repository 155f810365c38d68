"""A table's bucket: its path, and the event time that it is made of."""
