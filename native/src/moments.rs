//! Columns of timestamps and epoch numbers, in microseconds; the caller converts instants to the table's zone.

use crate::array::Array;
use crate::arrays::{taken, without_those_from, Fixed};
use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::times::{timestamp, DAY, EARLIEST, LATEST};

/// The form of the values in messages.
pub enum Form {
    /// Timestamps as text
    Text,
    /// Numbers: microseconds are number * factor / divisor
    Epoch {
        /// Microseconds in a unit, if it is at least one long
        factor: i64,
        /// Units in a microsecond, if it is shorter
        divisor: i64,
        /// Whether it is a column of dates
        days: bool,
        /// Whether the number is an instant; otherwise it is a wall clock
        instant: bool,
    },
}

/// A column of timestamps, or of dates that messages write as epoch numbers.
pub struct Moments {
    form: Form,
    values: Fixed<i64>,
    /// Places of the instants that are not converted yet, ascending
    instants: Vec<u32>,
}

impl Moments {
    /// Makes an empty column.
    pub fn new(form: Form) -> Self {
        Moments { form, values: Fixed::default(), instants: vec![] }
    }

    #[inline]
    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context) -> Parsed<()> {
        match self.form {
            Form::Text => {
                let (micros, instant) = timestamp(cursor.string(&mut context.scratch)?)?;
                self.push(micros, instant, context.utc)
            }
            Form::Epoch { .. } => self.push_number(cursor.integer(1 << 63)?, context.utc),
        }
    }

    /// Appends an epoch number; Doubt if the values are texts.
    #[inline]
    pub(crate) fn push_number(&mut self, number: i64, utc: bool) -> Parsed<()> {
        let Form::Epoch { factor, divisor, days, instant } = self.form else { return Err(Doubt) };
        // times a factor that makes it greater than an i64, it is beyond the year 9999 whatever the divisor
        let scaled = number.checked_mul(factor).ok_or(Doubt)?;
        if !days && scaled % divisor != 0 {
            return Err(Doubt);
        }
        self.push(scaled.div_euclid(divisor), instant, utc)
    }

    /// Appends a wall clock, or an instant that is to become one; `utc`: both are the same.
    #[inline]
    pub(crate) fn push(&mut self, micros: i64, instant: bool, utc: bool) -> Parsed<()> {
        if instant {
            // a zone is less than two days away from UTC, so that the wall clock is in range too
            let margin = if utc { 0 } else { 2 * DAY };
            if micros < EARLIEST + margin || micros > LATEST - margin {
                return Err(Doubt);
            }
            if !utc {
                self.instants.push(self.values.values.len() as u32);
            }
        } else if !(EARLIEST..=LATEST).contains(&micros) {
            return Err(Doubt);
        }
        self.values.push(micros);
        Ok(())
    }

    /// Returns the microseconds since 1970 of an epoch number; None if the values are texts.
    pub(crate) fn micros(&self, number: i64) -> Option<i128> {
        let Form::Epoch { factor, divisor, .. } = self.form else { return None };
        Some((i128::from(number) * i128::from(factor)).div_euclid(i128::from(divisor)))
    }

    /// Returns whether it is a column of dates.
    pub(crate) fn of_days(&self) -> bool {
        matches!(self.form, Form::Epoch { days: true, .. })
    }

    /// Appends the column's instants, in microseconds since 1970 UTC, to `to`.
    pub fn instants(&self, to: &mut Vec<i64>) {
        to.extend(self.instants.iter().map(|place| self.values.values[*place as usize]));
    }

    /// Replaces the instants by their wall clocks, which it takes from `walls`.
    pub fn set_walls(&mut self, walls: &mut dyn Iterator<Item = i64>) {
        for (place, wall) in taken(&mut self.instants).into_iter().zip(walls) {
            self.values.values[place as usize] = wall;
        }
    }

    pub(crate) fn push_null(&mut self) {
        self.values.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
        without_those_from(&mut self.instants, length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.instants.clear();
        match self.form {
            Form::Epoch { days: true, .. } => self.values.finish_as(|micros| micros.div_euclid(DAY) as i32),
            _ => self.values.finish(),
        }
    }
}
