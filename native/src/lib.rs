//! kafka2hive's strict decoders: they accept a message only where docs/decoding.md does, with the same values.
//!
//! Whatever else a message holds is in doubt, and the exact decoder in Python decides. One walk over each message,
//! without a tree in between: JSON driven by the table's columns, Avro (avro/) and Protobuf (protobuf/) by the plan for
//! the writer's schema. And rows to Avro, for files (avro/rows.rs).

pub mod array;
#[cfg(feature = "python")]
mod arrow;
pub mod avro;
pub mod base64;
pub mod columns;
pub mod cursor;
pub mod decoder;
#[cfg(feature = "python")]
mod imported;
pub mod keys;
#[cfg(feature = "python")]
mod messages;
pub mod moments;
pub mod nested;
pub mod numbers;
#[cfg(feature = "python")]
mod plan;
pub mod protobuf;
#[cfg(feature = "python")]
mod python;
pub mod rows;
pub mod times;
pub mod view;

use std::panic::{catch_unwind, AssertUnwindSafe};

/// This crate has a mistake.
#[derive(Debug)]
pub struct Panicked;

/// After a panic the state is gone, and each further step is an error, too.
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
