"""Messages that hold several rows: split, decoded row by row, and one dead letter as a whole if one row is bad."""
