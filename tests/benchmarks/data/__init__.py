"""What is dumped: records of many shapes, topics filled with them, and what a contestant's files then hold of them."""
