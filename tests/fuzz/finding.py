"""What a target raises."""


class Finding(AssertionError):
    """Something that must hold does not, for this seed."""
