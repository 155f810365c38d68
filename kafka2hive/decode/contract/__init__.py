"""What every decoder promises, and what it is made from."""
