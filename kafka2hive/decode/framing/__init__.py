"""Messages whose schema a registry has by an id in them: their heads, and rows of several schemas in one batch."""
