//! One value of a message to a column, by the acceptance table.

use crate::avro::values::{day, real, rescaled, whole};
use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::numbers::unscaled;
use crate::protobuf::bytes::{Bytes, LENGTH, VARINT};
use crate::protobuf::integers::Kind;
use crate::protobuf::shapes::Shape;
use crate::protobuf::texts::Form;

pub(crate) const BILLION: i64 = 1_000_000_000;
/// Limit of a Duration, 10,000 years.
pub(crate) const MOST_SECONDS: i64 = 315_576_000_000;

/// What to do with a value that is neither a message nor looked up.
#[derive(Clone, Copy)]
pub enum Scalar {
    /// bool
    Boolean,
    /// Integer of a type within i64 to a number
    Whole(Kind),
    /// Integer that counts from 1970; microseconds are number * factor / divisor
    Moment(Kind, i64, i64),
    /// float
    Float,
    /// double
    Double,
    /// Text, which must be UTF-8
    Text,
}

/// A value that contains no other value and is not a scalar; plan.py explains the same steps.
pub enum Leaf {
    /// uint64 or fixed64 to a number
    Unsigned(Kind),
    /// Bytes
    Octets,
    /// enum to the name of its number; numbers ascend
    Symbol(Vec<(i64, Box<[u8]>)>),
    /// enum to its number; the known numbers, ascending, or none if any number is valid
    Ordinal(Vec<i64>),
    /// google.protobuf.Timestamp
    Stamp,
    /// google.protobuf.Duration to a decimal of seconds
    Span,
    /// confluent.type.Decimal
    Unscaled,
    /// google.type.Date
    Day,
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

impl Scalar {
    /// Reads a value and appends it to the column.
    #[inline(always)]
    pub fn read(self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Scalar::Whole(kind) => whole(kind.read(bytes)?, column),
            Scalar::Text => match column {
                Column::Text(column) | Column::Binary(column) => {
                    column.push(bytes.text()?);
                    Ok(())
                }
                _ => Err(Doubt),
            },
            Scalar::Double => real(f64::from_le_bytes(bytes.exactly()?), column),
            other => other.any(bytes, column, context),
        }
    }

    #[inline(never)]
    fn any(self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Scalar::Boolean => {
                let Column::Boolean(column) = column else { return Err(Doubt) };
                column.push(Kind::Bool.read(bytes)? == 1);
                Ok(())
            }
            Scalar::Float => real(f64::from(f32::from_le_bytes(bytes.exactly()?)), column),
            Scalar::Moment(kind, factor, divisor) => {
                let number = kind.read(bytes)?;
                let Column::Moment(column) = column else { return Err(Doubt) };
                if number < 0 && kind.unsigned_64() {
                    return Err(Doubt);
                }
                let scaled = number.checked_mul(factor).ok_or(Doubt)?;
                if divisor == 1 {
                    return column.push(scaled, true, context.utc);
                }
                if !column.of_days() && scaled % divisor != 0 {
                    return Err(Doubt);
                }
                column.push(scaled.div_euclid(divisor), true, context.utc)
            }
            Scalar::Whole(_) | Scalar::Text | Scalar::Double => self.read(bytes, column, context),
        }
    }
}

impl Leaf {
    /// Reads a value and appends it to the column. After `Doubt` the column may end with a part of it.
    #[inline(never)]
    pub fn read(&self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Leaf::Unsigned(kind) => match kind.read(bytes)? {
                large @ ..=-1 => beyond_i64(large as u64, column)?,
                number => whole(number, column)?,
            },
            Leaf::Octets => {
                let Column::Binary(column) = column else { return Err(Doubt) };
                column.push(bytes.octets()?);
            }
            Leaf::Symbol(names) => {
                let number = Kind::Int32.read(bytes)?;
                let place = names.binary_search_by_key(&number, |one| one.0).map_err(|_| Doubt)?;
                let Column::Text(column) = column else { return Err(Doubt) };
                column.push_within_reach(&names[place].1)?;
            }
            Leaf::Ordinal(known) => {
                let number = Kind::Int32.read(bytes)?;
                if !known.is_empty() && known.binary_search(&number).is_err() {
                    return Err(Doubt);
                }
                whole(number, column)?;
            }
            Leaf::Stamp => {
                let [seconds, nanos] = numbers(bytes, [Kind::Int64, Kind::Int32])?;
                let Column::Moment(column) = column else { return Err(Doubt) };
                if !(0..BILLION).contains(&nanos) || nanos % 1000 != 0 {
                    return Err(Doubt);
                }
                let micros = seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(nanos / 1000)).ok_or(Doubt)?;
                column.push(micros, true, context.utc)?;
            }
            Leaf::Span => {
                let [seconds, nanos] = numbers(bytes, [Kind::Int64, Kind::Int32])?;
                let one_sign = seconds.signum() * nanos.signum() >= 0;
                if nanos.abs() >= BILLION || !(-MOST_SECONDS..=MOST_SECONDS).contains(&seconds) || !one_sign {
                    return Err(Doubt);
                }
                let Column::Decimal(column, precision, scale) = column else { return Err(Doubt) };
                let unscaled = i128::from(seconds) * i128::from(BILLION) + i128::from(nanos);
                column.push(rescaled(unscaled, 9, *precision, *scale)?);
            }
            Leaf::Unscaled => {
                let mut inner = bytes.inner()?;
                let [octets, precision, scale] = places(&mut inner, [LENGTH, VARINT, VARINT], true)?;
                if let Some(at) = precision {
                    inner.at = at;
                    Kind::Uint32.read(&mut inner)?;
                }
                let from = match scale {
                    Some(at) => {
                        inner.at = at;
                        u32::try_from(Kind::Int32.read(&mut inner)?).map_err(|_| Doubt)?
                    }
                    None => 0,
                };
                inner.at = octets.ok_or(Doubt)?;
                let number = unscaled(inner.octets()?)?;
                let Column::Decimal(column, precision, to) = column else { return Err(Doubt) };
                column.push(rescaled(number, from, *precision, *to)?);
            }
            Leaf::Day => {
                let [year, month, of_month] = numbers(bytes, [Kind::Int32; 3])?;
                day(days_since_1970(year, month, of_month)?, column)?;
            }
        }
        Ok(())
    }
}

/// Appends a number of 2^63 or more.
fn beyond_i64(number: u64, column: &mut Column) -> Parsed<()> {
    match column {
        Column::Decimal(column, precision, scale) => column.push(rescaled(i128::from(number), 0, *precision, *scale)?),
        Column::Float64(column) => {
            let rounded = number as f64;
            if rounded as u128 != u128::from(number) {
                return Err(Doubt);
            }
            column.push(rounded);
        }
        Column::Float32(column) => {
            let rounded = number as f32;
            if rounded as u128 != u128::from(number) {
                return Err(Doubt);
            }
            column.push(rounded);
        }
        _ => return Err(Doubt),
    }
    Ok(())
}

/// Skips the fields of a message. Returns where the values of fields 1, 2 .. begin; Doubt if one of them repeats.
///
/// `others`: whether it may have other fields.
pub(crate) fn places<const N: usize>(bytes: &mut Bytes, wires: [u32; N], others: bool) -> Parsed<[Option<usize>; N]> {
    let mut starts = [None; N];
    while !bytes.at_end() {
        let (number, wire) = bytes.tag()?;
        if let Some(place) = starts.get_mut(number as usize - 1) {
            if wire != wires[number as usize - 1] || place.replace(bytes.at).is_some() {
                return Err(Doubt);
            }
        } else if !others {
            return Err(Doubt);
        }
        bytes.skip(number, wire)?;
    }
    Ok(starts)
}

/// Reads the integers of fields 1, 2 .. of a message; an absent one is 0.
pub(crate) fn numbers<const N: usize>(bytes: &mut Bytes, kinds: [Kind; N]) -> Parsed<[i64; N]> {
    let mut inner = bytes.inner()?;
    let starts = places(&mut inner, [VARINT; N], true)?;
    let mut values = [0; N];
    for ((value, kind), at) in values.iter_mut().zip(kinds).zip(starts) {
        if let Some(at) = at {
            inner.at = at;
            *value = kind.read(&mut inner)?;
        }
    }
    Ok(values)
}

/// Returns the days since 1970; Doubt if the day does not exist in the years 1 to 9999.
fn days_since_1970(year: i64, month: i64, day: i64) -> Parsed<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return Err(Doubt),
    };
    if !(1..=9999).contains(&year) || !(1..=longest).contains(&day) {
        return Err(Doubt);
    }
    // years that begin in March, so that the leap day is the last day
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    i32::try_from(days - 719_468).map_err(|_| Doubt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let days = |year, month, day| days_since_1970(year, month, day).ok();
        assert_eq!([days(1970, 1, 1), days(2020, 2, 29), days(1, 1, 1)], [Some(0), Some(18_321), Some(-719_162)]);
        assert_eq!([days(9999, 12, 31), days(1969, 12, 31), days(2000, 3, 1)], [Some(2_932_896), Some(-1), Some(11_017)]);
        for (year, month, day) in
            [(2021, 2, 29), (1900, 2, 29), (0, 1, 1), (10_000, 1, 1), (2020, 13, 1), (2020, 4, 31), (2020, 1, 0)]
        {
            assert_eq!(days(year, month, day), None);
        }
    }
}
