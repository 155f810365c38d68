//! Past values that no column takes, which must be right all the same.

use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::{Bytes, END, FIXED32, FIXED64, LENGTH, START};
use crate::protobuf::integers::Kind;

/// A kind of field; others within it by their numbers in a table of shapes.
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
    /// message: its fields
    Message(Vec<Known>),
    /// group: its fields
    Group(Vec<Known>),
}

/// A field of a message: its number, whether it is repeated, its shape. They ascend.
pub type Known = (u32, bool, usize);

impl Shape {
    /// The wire type of one value.
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

/// Whether many values of this wire type may stand behind one length.
#[inline(always)]
pub fn packable(wire: u32) -> bool {
    wire != LENGTH && wire != START
}

/// Past what stands behind the tag of a known field.
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

/// `group`: the number of the group that this is, 0 where it is none.
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
