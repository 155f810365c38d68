//! Protobuf's wire format into columns, as the plan for one message type says.
//!
//! Python resolves that type against the table and gives the plan (kafka2hive/decode/protobuf/plan.py). A field
//! that stands twice, or a second member of a oneof, is in doubt: the exact decoder knows which value counts.

pub mod bytes;
pub mod decoder;
pub mod integers;
pub mod level;
pub mod shapes;
pub mod values;
#[cfg(feature = "python")]
pub mod words;
