"""Read the map's text: YAML to plain data with places, and plain data to declared keys."""
