"""What must hold between the keys of the map."""
