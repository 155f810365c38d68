//! Avro values as JSON texts; kafka2hive/decode/avro/texts.py writes the same.

use crate::arrays::Texts;
use crate::avro::bytes::Bytes;
use crate::cursor::{Doubt, Parsed};
use crate::numbers::unscaled;
use crate::spelling::{self, Members};

/// A writer's type and how it is spelled. Types within it are numbers in a table of forms.
pub enum Form {
    /// null
    Null,
    /// boolean
    Boolean,
    /// int
    Int,
    /// long
    Long,
    /// float
    Float,
    /// double
    Double,
    /// string
    Text,
    /// bytes, or a fixed of this size, as base64
    Octets(Option<usize>),
    /// fixed of 16 bytes as a UUID
    Uuid,
    /// enum, with its symbols in quotes
    Symbol(Vec<Box<[u8]>>),
    /// bytes or a fixed that are a decimal of a scale
    Decimal(Option<usize>, u32),
    /// int of days
    Day,
    /// int or long (whether it is an int) of so many nanoseconds of a day
    Clock(bool, i64),
    /// long of so many nanoseconds since 1970; whether it is an instant
    Moment(i64, bool),
    /// array
    Array(usize),
    /// map
    Map(usize),
    /// union
    Union(Vec<usize>),
    /// record, with each key in quotes
    Record(Vec<(Box<[u8]>, usize)>),
}

/// Reads a value of the form with this number, and appends its text to a column. `sorted`: whether keys are sorted.
pub fn read(forms: &[Form], number: usize, sorted: bool, bytes: &mut Bytes, column: &mut Texts) -> Parsed<()> {
    column.push_json(|out| write(forms, number, sorted, bytes, out))
}

fn write(forms: &[Form], number: usize, sorted: bool, bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
    match forms.get(number).ok_or(Doubt)? {
        Form::Null => out.extend_from_slice(b"null"),
        Form::Boolean => out.extend_from_slice(if bytes.boolean()? { b"true" } else { b"false" }),
        Form::Int => spelling::whole(i128::from(bytes.int()?), out),
        Form::Long => spelling::whole(i128::from(bytes.long()?), out),
        Form::Float => spelling::float(f32::from_le_bytes(bytes.exactly()?), out),
        Form::Double => spelling::double(f64::from_le_bytes(bytes.exactly()?), out),
        Form::Text => spelling::quote(bytes.text()?, out),
        Form::Octets(size) => spelling::octets(sized(bytes, *size)?, out),
        Form::Uuid => {
            out.push(b'"');
            out.extend_from_slice(&crate::avro::values::uuid(bytes.take(16)?));
            out.push(b'"');
        }
        Form::Symbol(symbols) => out.extend_from_slice(&symbols[bytes.index(symbols.len())?]),
        Form::Decimal(size, scale) => spelling::decimal(unscaled(sized(bytes, *size)?)?, *scale, out),
        Form::Day => spelling::day(i64::from(bytes.int()?), out)?,
        Form::Clock(int, factor) => {
            let number = if *int { i64::from(bytes.int()?) } else { bytes.long()? };
            spelling::clock(i128::from(number) * i128::from(*factor), out)?;
        }
        Form::Moment(factor, instant) => spelling::moment(i128::from(bytes.long()?) * i128::from(*factor), *instant, out)?,
        Form::Array(item) => {
            out.push(b'[');
            let mut first = true;
            bytes.blocks(|bytes| {
                comma(&mut first, out);
                write(forms, *item, sorted, bytes, out)
            })?;
            out.push(b']');
        }
        Form::Map(value) => {
            out.push(b'{');
            let (mut first, mut members) = (true, Members::default());
            bytes.blocks(|bytes| {
                comma(&mut first, out);
                let start = out.len();
                spelling::quote(bytes.text()?, out);
                let key = out.len();
                out.push(b':');
                write(forms, *value, sorted, bytes, out)?;
                members.add(start, key, out);
                Ok(())
            })?;
            members.distinct(out)?;
            if sorted {
                members.sort(out)?;
            }
            out.push(b'}');
        }
        Form::Union(branches) => return write(forms, branches[bytes.index(branches.len())?], sorted, bytes, out),
        Form::Record(fields) => {
            let before = bytes.at;
            bytes.open()?;
            out.push(b'{');
            let (mut first, mut members) = (true, Members::default());
            for (key, value) in fields {
                comma(&mut first, out);
                let start = out.len();
                out.extend_from_slice(key);
                out.push(b':');
                write(forms, *value, sorted, bytes, out)?;
                if sorted {
                    members.add(start, start + key.len(), out);
                }
            }
            members.sort(out)?;
            out.push(b'}');
            bytes.close();
            bytes.counted(before)?;
        }
    }
    Ok(())
}

fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

fn sized<'a>(bytes: &mut Bytes<'a>, size: Option<usize>) -> Parsed<&'a [u8]> {
    match size {
        Some(size) => bytes.take(size),
        None => bytes.octets(),
    }
}
