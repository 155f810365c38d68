"""The small languages within the map: a bucket's path, the way to a value in JSON."""
