"""What a record's own schema says about its values, read and judged without any code of the decoders."""
