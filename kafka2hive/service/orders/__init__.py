"""Orders of operators to the owner of a table: giving one and waiting for its answer, and the changes that answer it."""
