"""A snapshot as a value and as text: the draft of the next one, and the codec."""
