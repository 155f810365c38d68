"""Format `protobuf`: a message's descriptor resolved against the table's columns, and messages read by the plan."""
