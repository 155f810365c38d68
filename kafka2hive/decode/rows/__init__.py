"""Messages that hold several rows: taken apart, decoded row by row, and one dead letter as a whole where one row is bad."""
