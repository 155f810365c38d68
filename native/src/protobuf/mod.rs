//! Protobuf's wire format to columns.
//!
//! Python resolves a message type against the table and passes the plan (kafka2hive/decode/protobuf/plan.py). A singular field
//! that repeats, or a second member of a oneof, is in doubt: only the exact decoder merges messages and lets the last value win.

pub mod bytes;
pub mod decoder;
pub mod integers;
pub mod level;
pub mod places;
pub mod shapes;
pub mod texts;
pub mod values;
#[cfg(feature = "python")]
pub mod words;
