"""Decoders and bucketers that packages offer, and proof that what they give holds together."""
