"""Orders of operators to the owner of a table: how they are given, and what answers them."""
