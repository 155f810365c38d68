"""Values that are plain text (fields of CSV, headers, keys): what one of them is in a column, exactly and for whole columns."""
