"""Apply the map's options of single columns, in every format with named fields: leeway, several paths, defaults."""
