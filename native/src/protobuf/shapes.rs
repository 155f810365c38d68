//! Skip values that no column takes; they must be valid too.

use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::{Bytes, END, FIXED32, FIXED64, LENGTH, START};
use crate::protobuf::integers::Kind;

/// A field's type. Types within it are numbers in a table of shapes, so that types may be recursive.
pub enum Shape {
    /// A number, bool or enum
    Integer(Kind),
    /// float
    Float,
    /// double
    Double,
    /// bytes
    Octets,
    /// string
    Text,
    /// message with these fields
    Message(Vec<Known>),
    /// group with these fields
    Group(Vec<Known>),
}

/// A field: its number, whether it is repeated, its shape. The fields of a message ascend by their numbers.
pub type Known = (u32, bool, usize);

impl Shape {
    /// Returns the wire type of one value.
    #[inline(always)]
    pub fn wire(&self) -> u32 {
        match self {
            Shape::Integer(kind) => kind.wire(),
            Shape::Float => FIXED32,
            Shape::Double => FIXED64,
            Shape::Octets | Shape::Text | Shape::Message(_) => LENGTH,
            Shape::Group(_) => START,
        }
    }
}

/// Returns whether values of this wire type may be packed after one length.
#[inline(always)]
pub fn packable(wire: u32) -> bool {
    wire != LENGTH && wire != START
}

/// Skips the value of a known field, after its tag.
pub fn skip(shapes: &[Shape], field: Known, wire: u32, bytes: &mut Bytes) -> Parsed<()> {
    let (number, repeated, shape) = field;
    let shape = shapes.get(shape).ok_or(Doubt)?;
    if wire == shape.wire() {
        return one(shapes, shape, number, bytes);
    }
    if !repeated || wire != LENGTH || !packable(shape.wire()) {
        return Err(Doubt);
    }
    let mut packed = bytes.packed()?;
    while !packed.at_end() {
        one(shapes, shape, number, &mut packed)?;
    }
    Ok(())
}

fn one(shapes: &[Shape], shape: &Shape, number: u32, bytes: &mut Bytes) -> Parsed<()> {
    match shape {
        Shape::Integer(kind) => drop(kind.read(bytes)?),
        Shape::Float => drop(bytes.take(4)?),
        Shape::Double => drop(bytes.take(8)?),
        Shape::Octets => drop(bytes.octets()?),
        Shape::Text => drop(bytes.text()?),
        Shape::Message(fields) => message(shapes, fields, 0, &mut bytes.inner()?)?,
        Shape::Group(fields) => {
            bytes.open()?;
            message(shapes, fields, number, bytes)?;
            bytes.close();
        }
    }
    Ok(())
}

/// Skips the fields of a message, or of the group with this number (0: a message).
fn message(shapes: &[Shape], fields: &[Known], group: u32, bytes: &mut Bytes) -> Parsed<()> {
    while group != 0 || !bytes.at_end() {
        let (number, wire) = bytes.tag()?;
        if wire == END && number == group {
            break;
        }
        match fields.binary_search_by_key(&number, |field| field.0) {
            Ok(place) => skip(shapes, fields[place], wire, bytes)?,
            Err(_) => bytes.skip(number, wire)?,
        }
    }
    Ok(())
}
