"""Writers' schemas as values, read from their texts."""
