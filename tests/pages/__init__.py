"""Parts of the documents that come from declarations in the code, between `<!-- NAME -->` and `<!-- /NAME -->`."""
