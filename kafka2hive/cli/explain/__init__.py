"""What each code means and what to do: the texts, which the documents repeat (`scripts/pages`), and their lookup."""
