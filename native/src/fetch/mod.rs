//! The fetch: a consumer of the librdkafka that the Python client has loaded, and its records as columns.
//!
//! librdkafka.rs alone calls C. tally.rs counts what was delivered, records.rs copies it into columns: neither uses the
//! other, so that a mistake in one of them is a difference between the two.

pub mod librdkafka;
#[cfg(feature = "python")]
pub mod python;
pub mod records;
pub mod tally;
