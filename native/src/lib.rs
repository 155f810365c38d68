//! kafka2hive's strict decoders: they accept a message only if docs/decoding.md does, with the same values.
//!
//! Any other message is in doubt, and the exact decoder in Python decides on it. Each message is walked once, without a
//! tree in between: JSON by the table's columns, Avro (avro/) and Protobuf (protobuf/) by the plan for the writer's
//! schema. avro/rows.rs encodes the rows of Avro files. fetch/ reads Kafka.

pub mod array;
pub mod arrays;
#[cfg(feature = "python")]
mod arrow;
pub mod avro;
pub mod base64;
pub mod brackets;
pub mod bytes;
pub mod canonical;
pub mod columns;
pub mod context;
pub mod crc32c;
pub mod cursor;
pub mod decoder;
pub mod elements;
pub mod fetch;
#[cfg(feature = "python")]
mod imported;
pub mod keys;
pub mod loose;
pub mod marks;
#[cfg(feature = "python")]
mod messages;
pub mod moments;
pub mod numbers;
#[cfg(feature = "python")]
mod plan;
pub mod protobuf;
#[cfg(feature = "python")]
mod python;
pub mod rows;
pub mod spelling;
pub mod times;
pub mod unscaled;
pub mod view;
pub mod written;

use std::panic::{catch_unwind, AssertUnwindSafe};

/// A bug in this crate: a step panicked, now or before.
#[derive(Debug)]
pub struct Panicked;

/// Runs `step` on the state. A panic drops the state, which may be inconsistent, so that each later step is an error too.
///
/// `AssertUnwindSafe` is right for that reason: nothing that a panic has touched is used again.
pub fn guarded<T, R>(state: &mut Option<T>, step: impl FnOnce(&mut T) -> R) -> Result<R, Panicked> {
    let mut inner = state.take().ok_or(Panicked)?;
    let result = catch_unwind(AssertUnwindSafe(|| step(&mut inner))).map_err(|_| Panicked)?;
    *state = Some(inner);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_the_decoder_stays_broken() {
        let mut state = Some(7);
        assert_eq!(guarded(&mut state, |number| *number + 1).unwrap(), 8);
        assert!(guarded(&mut state, |_| panic!("on purpose")).is_err());
        assert!(state.is_none());
        assert!(guarded(&mut state, |number| *number).is_err());
    }
}
