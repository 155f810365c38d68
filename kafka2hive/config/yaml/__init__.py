"""From the map's text to plain data with places, and from that to the map as written."""
