"""Results as text for a terminal and as versioned JSON."""
