"""Format `protobuf`: resolve each message type once against the table's columns, and read its messages by that plan."""
