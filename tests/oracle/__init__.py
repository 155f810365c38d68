"""What is on disk, read without a line of the product: data files, dead letters, ledgers, and what they must hold."""
