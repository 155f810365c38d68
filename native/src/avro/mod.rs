//! Avro's binary encoding (specification 1.12): messages to columns, and rows to bytes (rows.rs).
//!
//! Python resolves a writer's schema against the table and passes the plan (kafka2hive/decode/avro/plan.py): what to do with
//! each value of a message, from the first byte to the last.

pub mod bytes;
pub mod decoder;
pub mod rows;
pub mod shapes;
pub mod texts;
pub mod values;
#[cfg(feature = "python")]
pub mod words;
