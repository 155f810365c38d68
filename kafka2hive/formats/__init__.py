"""File formats of tables: rows to files, and files back to rows. Each format has its module or folder."""
