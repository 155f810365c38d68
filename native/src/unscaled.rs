//! Columns of decimals whose unscaled numbers are bytes in base64, as Kafka Connect's JSON converter writes them.

use crate::array::Array;
use crate::arrays::Fixed;
use crate::base64;
use crate::context::Context;
use crate::cursor::{Cursor, Parsed};
use crate::numbers::decimal_of_octets;

/// Limit of a scale, in both directions.
pub const MOST_SCALE: i32 = 999;

/// A column of decimals. A JSON number is accepted too, because the converter may write decimals so.
pub struct Unscaled {
    values: Fixed<i128>,
    precision: u32,
    scale: u32,
    /// The scale of the numbers in the messages
    from: i32,
    /// Buffer for a number's bytes
    octets: Vec<u8>,
}

impl Unscaled {
    /// Makes an empty column.
    pub fn new(precision: u32, scale: u32, from: i32) -> Self {
        Unscaled { values: Fixed::default(), precision, scale, from, octets: vec![] }
    }

    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context) -> Parsed<()> {
        let value = if cursor.peek() == b'"' {
            self.octets.clear();
            base64::decode(cursor.string(&mut context.scratch)?, &mut self.octets)?;
            decimal_of_octets(&self.octets, -self.from, self.precision, self.scale)?
        } else {
            cursor.decimal(self.precision, self.scale)?
        };
        self.values.push(value);
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        self.values.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.values.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_a_decimal_of_their_own_scale_or_in_doubt() {
        let taken = |text: &str, from: i32| {
            let mut column = Unscaled::new(12, 2, from);
            let mut context = Context { scratch: vec![], utc: true, changed: Default::default(), with_non_finite: 0 };
            column.take(&mut Cursor::new(text.as_bytes()), &mut context).ok().and_then(|()| column.values.last())
        };
        assert_eq!(taken(r#""MDk=""#, 2), Some(12_345));
        assert_eq!(taken(r#""MDk=""#, 3), None);
        assert_eq!(taken(r#""MDQ=""#, 3), Some(1_234));
        assert_eq!(taken(r#""PA==""#, 0), Some(6_000));
        assert_eq!(taken(r#""+Q==""#, -2), Some(-70_000));
        assert_eq!(taken(r#""\u0050A==""#, 0), Some(6_000));
        assert_eq!(taken("60", 3), Some(6_000));
        for bad in [r#""60""#, r#""""#, r#""MDk""#, "true", "{}", "1.005"] {
            assert_eq!(taken(bad, 2), None, "{bad}");
        }
    }
}
