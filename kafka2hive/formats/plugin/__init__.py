"""Files by writers that packages offer: rows are counted on both sides of them."""
