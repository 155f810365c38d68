"""What moves a table on purpose: to another location, or out of the way, to start it over."""
