"""The YAML map: loaded, validated with every error at once, frozen."""
