"""The rules between the keys of the map."""
