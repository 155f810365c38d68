//! Skip values that no column takes; they must be valid too.

use crate::avro::bytes::Bytes;
use crate::cursor::{Doubt, Parsed};

/// A writer's type. Types within it are numbers in a table of shapes, so that types may be recursive.
pub enum Shape {
    /// null
    Null,
    /// boolean
    Boolean,
    /// int
    Int,
    /// long
    Long,
    /// float, double or fixed, of so many bytes
    Sized(usize),
    /// bytes
    Octets,
    /// string
    Text,
    /// enum of so many symbols
    Enum(usize),
    /// array
    Array(usize),
    /// map
    Map(usize),
    /// union
    Union(Vec<usize>),
    /// record
    Record(Vec<usize>),
}

/// Skips a value whose shape has this number.
pub fn skip(shapes: &[Shape], number: usize, bytes: &mut Bytes) -> Parsed<()> {
    match shapes.get(number).ok_or(Doubt)? {
        Shape::Null => {}
        Shape::Boolean => drop(bytes.boolean()?),
        Shape::Int => drop(bytes.int()?),
        Shape::Long => drop(bytes.long()?),
        Shape::Sized(size) => drop(bytes.take(*size)?),
        Shape::Octets => drop(bytes.octets()?),
        Shape::Text => drop(bytes.text()?),
        Shape::Enum(symbols) => drop(bytes.index(*symbols)?),
        Shape::Array(item) => drop(bytes.blocks(|bytes| skip(shapes, *item, bytes))?),
        Shape::Map(value) => drop(bytes.blocks(|bytes| {
            bytes.text()?;
            skip(shapes, *value, bytes)
        })?),
        Shape::Union(branches) => return skip(shapes, branches[bytes.index(branches.len())?], bytes),
        Shape::Record(fields) => {
            let before = bytes.at;
            bytes.open()?;
            for field in fields {
                skip(shapes, *field, bytes)?;
            }
            bytes.close();
            bytes.counted(before)?;
        }
    }
    Ok(())
}
