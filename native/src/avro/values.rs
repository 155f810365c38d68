//! One value of a message to a column, by the acceptance table.

use crate::avro::bytes::Bytes;
use crate::avro::shapes::{skip, Shape};
use crate::avro::texts::{self, Form};
use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::numbers::unscaled;
use crate::times::{DAY, EARLIEST, LATEST};

/// What to do with a value; plan.py explains the same steps.
pub enum Value {
    /// null, which has no bytes
    Null,
    /// boolean
    Boolean,
    /// int to a number
    Int,
    /// long to a number
    Long,
    /// int or long that counts from 1970
    Moment {
        /// Whether it is an int
        int: bool,
        /// Microseconds are number * factor / divisor
        factor: i64,
        /// See `factor`
        divisor: i64,
        /// Whether it is an instant; otherwise a wall clock
        instant: bool,
    },
    /// int of days since 1970
    Day,
    /// float to float or double
    Float,
    /// double to double, or to float if that is exact
    Double,
    /// Text, which must be UTF-8
    Text,
    /// Bytes of this size; None: after their length
    Octets(Option<usize>),
    /// Bytes of a decimal, as above, and its scale
    Unscaled(Option<usize>, u32),
    /// fixed of 16 bytes to the text of a UUID
    Uuid,
    /// enum to the text of its symbol
    Symbol(Vec<Box<[u8]>>),
    /// array
    Elements(Box<Value>),
    /// map
    Entries(Box<Value>),
    /// record to a struct
    Row {
        /// For each field of the record the struct's field that takes it, and how; None: the value is a Skip
        steps: Vec<(Option<usize>, Value)>,
        /// The struct's fields that the record does not fill
        absent: Vec<usize>,
    },
    /// A union of null and one other type
    Maybe {
        /// Number of the branch null, 0 or 1
        null: usize,
        /// The other branch
        value: Box<Value>,
    },
    /// Any other union
    Choice(Vec<Value>),
    /// A branch that cannot fill the column
    Unfit,
    /// Any type to its JSON text: the number of its form, and whether keys are sorted
    Json(usize, bool),
    /// Any value of this shape to its bytes
    Raw(usize),
    /// Skip a value of this shape
    Skip(usize),
}

/// What does not change from message to message.
pub struct Context {
    /// Table of shapes
    pub shapes: Vec<Shape>,
    /// Table of forms, of values that become JSON texts
    pub forms: Vec<Form>,
    /// Whether the table's zone is UTC
    pub utc: bool,
}

impl Value {
    /// Reads a value and appends it to the column. After `Doubt` the column may end with a part of it.
    #[inline(always)]
    pub fn read(&self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Value::Maybe { null, value } => {
                if bytes.index(2)? == *null {
                    column.push_null();
                    Ok(())
                } else {
                    value.plain(bytes, column, context)
                }
            }
            other => other.plain(bytes, column, context),
        }
    }

    /// Reads the most frequent types; it is short, so that it is inlined.
    #[inline(always)]
    fn plain(&self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Value::Int => whole(i64::from(bytes.int()?), column),
            Value::Long => whole(bytes.long()?, column),
            Value::Text => match column {
                Column::Text(column) | Column::Binary(column) => {
                    column.push(bytes.text()?);
                    Ok(())
                }
                _ => Err(Doubt),
            },
            other => other.any(bytes, column, context),
        }
    }

    #[inline(never)]
    fn any(&self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Value::Int | Value::Long | Value::Text | Value::Maybe { .. } => self.read(bytes, column, context)?,
            Value::Choice(branches) => match &branches[bytes.index(branches.len())?] {
                Value::Null => column.push_null(),
                branch => branch.read(bytes, column, context)?,
            },
            Value::Null => column.push_null(),
            Value::Double => real(f64::from_le_bytes(bytes.exactly()?), column)?,
            Value::Float => real(f64::from(f32::from_le_bytes(bytes.exactly()?)), column)?,
            Value::Moment { int, factor, divisor, instant } => {
                let number = if *int { i64::from(bytes.int()?) } else { bytes.long()? };
                let Column::Moment(column) = column else { return Err(Doubt) };
                let scaled = number.checked_mul(*factor).ok_or(Doubt)?;
                if *divisor != 1 && !column.of_days() && scaled % divisor != 0 {
                    return Err(Doubt);
                }
                column.push(scaled.div_euclid(*divisor), *instant, context.utc)?;
            }
            Value::Boolean => {
                let Column::Boolean(column) = column else { return Err(Doubt) };
                column.push(bytes.boolean()?);
            }
            Value::Day => day(bytes.int()?, column)?,
            Value::Octets(size) => {
                let octets = sized(bytes, *size)?;
                let Column::Binary(column) = column else { return Err(Doubt) };
                column.push(octets);
            }
            Value::Unscaled(size, scale) => {
                let octets = sized(bytes, *size)?;
                let Column::Decimal(column, precision, to) = column else { return Err(Doubt) };
                column.push(rescaled(unscaled(octets)?, *scale, *precision, *to)?);
            }
            Value::Uuid => {
                let octets = bytes.take(16)?;
                let Column::Text(column) = column else { return Err(Doubt) };
                column.push_within_reach(&uuid(octets))?;
            }
            Value::Symbol(symbols) => {
                let Column::Text(column) = column else { return Err(Doubt) };
                column.push_within_reach(&symbols[bytes.index(symbols.len())?])?;
            }
            Value::Elements(element) => {
                let Column::List(list) = column else { return Err(Doubt) };
                let elements = bytes.blocks(|bytes| element.read(bytes, &mut list.element, context))?;
                list.close(elements)?;
            }
            Value::Entries(item) => {
                let Column::Map(map) = column else { return Err(Doubt) };
                bytes.blocks(|bytes| {
                    map.keys.push(bytes.text()?);
                    item.read(bytes, &mut map.item, context)
                })?;
                map.close()?;
            }
            Value::Row { steps, absent } => {
                let Column::Struct(column) = column else { return Err(Doubt) };
                let before = bytes.at;
                bytes.open()?;
                for (to, value) in steps {
                    match (to, value) {
                        (Some(to), value) => value.read(bytes, column.fields.get_mut(*to).ok_or(Doubt)?, context)?,
                        (None, Value::Skip(shape)) => skip(&context.shapes, *shape, bytes)?,
                        (None, _) => return Err(Doubt),
                    }
                }
                for field in absent {
                    column.fields.get_mut(*field).ok_or(Doubt)?.push_null();
                }
                column.close();
                bytes.close();
                bytes.counted(before)?;
            }
            Value::Json(form, sorted) => {
                let Column::Text(column) = column else { return Err(Doubt) };
                texts::read(&context.forms, *form, *sorted, bytes, column)?;
                bytes.format.texts += 1;
            }
            Value::Raw(shape) => {
                let Column::Binary(column) = column else { return Err(Doubt) };
                let start = bytes.at;
                skip(&context.shapes, *shape, bytes)?;
                column.push(bytes.message.get(start..bytes.at).ok_or(Doubt)?);
            }
            Value::Unfit | Value::Skip(_) => return Err(Doubt),
        }
        Ok(())
    }
}

#[inline(always)]
fn sized<'a>(bytes: &mut Bytes<'a>, size: Option<usize>) -> Parsed<&'a [u8]> {
    match size {
        Some(size) => bytes.take(size),
        None => bytes.octets(),
    }
}

#[inline(always)]
pub(crate) fn whole(number: i64, column: &mut Column) -> Parsed<()> {
    match column {
        Column::Int32(column) => column.push(i32::try_from(number).map_err(|_| Doubt)?),
        Column::Int64(column) => column.push(number),
        Column::Int16(column) => column.push(i16::try_from(number).map_err(|_| Doubt)?),
        Column::Int8(column) => column.push(i8::try_from(number).map_err(|_| Doubt)?),
        Column::Float64(column) => {
            let rounded = number as f64;
            if rounded as i128 != i128::from(number) {
                return Err(Doubt);
            }
            column.push(rounded);
        }
        Column::Float32(column) => {
            let rounded = number as f32;
            if rounded as i128 != i128::from(number) {
                return Err(Doubt);
            }
            column.push(rounded);
        }
        Column::Decimal(column, precision, scale) => column.push(rescaled(i128::from(number), 0, *precision, *scale)?),
        _ => return Err(Doubt),
    }
    Ok(())
}

#[inline(always)]
pub(crate) fn real(number: f64, column: &mut Column) -> Parsed<()> {
    match column {
        Column::Float64(column) => column.push(if number.is_nan() { f64::NAN } else { number }),
        Column::Float32(column) => {
            let rounded = number as f32;
            if number.is_nan() {
                column.push(f32::NAN);
            } else if f64::from(rounded) == number {
                column.push(rounded);
            } else {
                return Err(Doubt);
            }
        }
        _ => return Err(Doubt),
    }
    Ok(())
}

pub(crate) fn day(days: i32, column: &mut Column) -> Parsed<()> {
    let micros = i64::from(days).checked_mul(DAY).ok_or(Doubt)?;
    if !(EARLIEST..=LATEST).contains(&micros) {
        return Err(Doubt);
    }
    match column {
        Column::Date(column) => column.push(days),
        Column::Moment(column) if column.of_days() => column.push(micros, false, true)?,
        _ => return Err(Doubt),
    }
    Ok(())
}

pub(crate) fn rescaled(number: i128, from: u32, precision: u32, to: u32) -> Parsed<i128> {
    let power = |digits: u32| 10_i128.checked_pow(digits).ok_or(Doubt);
    let result = if to >= from {
        number.checked_mul(power(to - from)?).ok_or(Doubt)?
    } else {
        let divisor = power(from - to)?;
        if number % divisor != 0 {
            return Err(Doubt);
        }
        number / divisor
    };
    if result.unsigned_abs() >= power(precision)?.unsigned_abs() {
        return Err(Doubt);
    }
    Ok(result)
}

pub(crate) fn uuid(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        text.extend([byte >> 4, byte & 0xf].map(|digit| b"0123456789abcdef"[digit as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::Fixed;

    #[test]
    fn decimals_are_exact_or_doubt() {
        assert_eq!(unscaled(&[0, 0xff]), Ok(255));
        assert_eq!(unscaled(&[0xff; 40]), Ok(-1));
        assert_eq!(unscaled(&[]), Err(Doubt));
        assert_eq!(unscaled(&[[0].as_slice(), &[0xff; 16]].concat()), Err(Doubt));
        assert_eq!(rescaled(1500, 3, 5, 2), Ok(150));
        assert_eq!(rescaled(1501, 3, 5, 2), Err(Doubt));
        assert_eq!(rescaled(999, 0, 5, 2), Ok(99_900));
        assert_eq!(rescaled(1000, 0, 5, 2), Err(Doubt));
        assert_eq!(rescaled(1, 1000, 5, 2), Err(Doubt));
    }

    #[test]
    fn a_day_is_within_the_years_1_to_9999() {
        let mut column = Column::Date(Fixed::default());
        for (days, taken) in [(2_932_896, true), (2_932_897, false), (-719_162, true), (-719_163, false)] {
            assert_eq!(day(days, &mut column).is_ok(), taken);
        }
        for days in [i32::MAX, i32::MIN, 641_207_454] {
            assert_eq!(day(days, &mut column), Err(Doubt));
        }
    }

    #[test]
    fn a_uuid_is_written_in_five_groups() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes), b"00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
