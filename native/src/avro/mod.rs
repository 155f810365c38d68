//! Avro's binary encoding (specification 1.12) into columns, as the plan for one writer's schema says; rows into it (rows.rs).
//!
//! Python resolves that schema against the table and gives the plan (kafka2hive/decode/avro/plan.py): what is
//! done with each value of a message, from the first byte to the last.

pub mod bytes;
pub mod decoder;
pub mod rows;
pub mod shapes;
pub mod values;
#[cfg(feature = "python")]
pub mod words;
