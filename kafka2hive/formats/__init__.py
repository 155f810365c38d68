"""File formats of tables: rows to files, and files back to rows. One room per format, which nothing else knows."""
