//! Integers, each within the range of its type; other readers cut larger ones off, which changes their value.

use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::{Bytes, FIXED32, FIXED64, VARINT};

/// An integer type of the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// int32 or an enum
    Int32,
    /// int64
    Int64,
    /// uint32
    Uint32,
    /// uint64
    Uint64,
    /// sint32
    Sint32,
    /// sint64
    Sint64,
    /// fixed32
    Fixed32,
    /// fixed64
    Fixed64,
    /// sfixed32
    Sfixed32,
    /// sfixed64
    Sfixed64,
    /// bool
    Bool,
}

impl Kind {
    /// Returns the type of this name in a schema.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "int32" | "enum" => Kind::Int32,
            "int64" => Kind::Int64,
            "uint32" => Kind::Uint32,
            "uint64" => Kind::Uint64,
            "sint32" => Kind::Sint32,
            "sint64" => Kind::Sint64,
            "fixed32" => Kind::Fixed32,
            "fixed64" => Kind::Fixed64,
            "sfixed32" => Kind::Sfixed32,
            "sfixed64" => Kind::Sfixed64,
            "bool" => Kind::Bool,
            _ => return None,
        })
    }

    /// Returns the wire type.
    pub fn wire(self) -> u32 {
        match self {
            Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
            Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
            _ => VARINT,
        }
    }

    /// Returns whether numbers may exceed i64; then `read` returns their bits.
    pub fn unsigned_64(self) -> bool {
        matches!(self, Kind::Uint64 | Kind::Fixed64)
    }

    /// Reads a number.
    #[inline(always)]
    pub fn read(self, bytes: &mut Bytes) -> Parsed<i64> {
        Ok(match self {
            Kind::Int32 => i64::from(i32::try_from(bytes.varint()? as i64).map_err(|_| Doubt)?),
            Kind::Int64 | Kind::Uint64 => bytes.varint()? as i64,
            Kind::Uint32 => i64::from(u32::try_from(bytes.varint()?).map_err(|_| Doubt)?),
            Kind::Sint32 => unfolded(u64::from(u32::try_from(bytes.varint()?).map_err(|_| Doubt)?)),
            Kind::Sint64 => unfolded(bytes.varint()?),
            Kind::Fixed32 => i64::from(u32::from_le_bytes(bytes.exactly()?)),
            Kind::Sfixed32 => i64::from(i32::from_le_bytes(bytes.exactly()?)),
            Kind::Fixed64 | Kind::Sfixed64 => i64::from_le_bytes(bytes.exactly()?),
            Kind::Bool => match bytes.varint()? {
                number @ (0 | 1) => number as i64,
                _ => return Err(Doubt),
            },
        })
    }
}

/// Returns the number that zigzag has encoded.
#[inline(always)]
fn unfolded(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_range_of_their_kind() {
        let read = |kind: Kind, bytes: &[u8]| kind.read(&mut Bytes::new(bytes, 0)).ok();
        let minus_one = [&[0xff; 9][..], &[1]].concat();
        let four_bytes = [0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(read(Kind::Int32, &minus_one), Some(-1));
        assert_eq!(read(Kind::Int32, &four_bytes), None);
        assert_eq!(read(Kind::Uint32, &four_bytes), Some(0xffff_ffff));
        assert_eq!(read(Kind::Uint32, &minus_one), None);
        assert_eq!(read(Kind::Sint32, &four_bytes), Some(i64::from(i32::MIN)));
        assert_eq!(read(Kind::Sint32, &minus_one), None);
        assert_eq!(read(Kind::Sint64, &minus_one), Some(i64::MIN));
        assert_eq!(read(Kind::Uint64, &minus_one), Some(-1));
        assert_eq!([read(Kind::Bool, &[1]), read(Kind::Bool, &[2])], [Some(1), None]);
    }
}
