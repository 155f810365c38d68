"""The YAML map: load it, report all its errors at once, and return it as frozen values."""
