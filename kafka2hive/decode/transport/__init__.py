"""What producers do to a value as a whole, after its format: compression, and text in another encoding than UTF-8."""
