"""The results of use cases as text for a terminal and as versioned JSON."""
