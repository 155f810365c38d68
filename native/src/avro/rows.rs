//! Rows to Avro's binary encoding for files: every value except a map's key is a union of null and its type.
//!
//! Timestamps become milliseconds, decimals the fewest bytes possible (kafka2hive/formats/avro_container.py).

use crate::view::{Values, View};

/// Why rows cannot be encoded.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// A timestamp is not a whole number of milliseconds
    PartOfMillisecond,
    /// A map has a null key
    NullKey,
    /// The values are not rows
    NoStruct,
}

/// Microseconds in a millisecond.
const MICROS: i64 = 1000;
/// Numbers of the union's branches, as zigzag varints.
const NULL: u8 = 0;
const VALUE: u8 = 2;

/// Encodes rows from `start` on, until there are `enough` bytes or no more rows. Returns how many rows, and their bytes.
pub fn encode(rows: &View<'_>, start: usize, enough: usize) -> Result<(usize, Vec<u8>), Refused> {
    let Values::Struct(columns, first) = &rows.values else { return Err(Refused::NoStruct) };
    let mut out = Vec::with_capacity(enough + enough / 4);
    let mut row = start;
    while row < rows.length && out.len() < enough {
        for column in columns {
            value(column, first + row, &mut out)?;
        }
        row += 1;
    }
    Ok((row.saturating_sub(start), out))
}

fn value(view: &View<'_>, place: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    if view.is_null(place) {
        out.push(NULL);
        return Ok(());
    }
    out.push(VALUE);
    plain(view, place, out)
}

fn plain(view: &View<'_>, place: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    match &view.values {
        Values::Boolean(bits) => out.push(u8::from(bits.get(place))),
        Values::Int8(numbers) => long(numbers[place].into(), out),
        Values::Int16(numbers) => long(numbers[place].into(), out),
        Values::Int32(numbers) => long(numbers[place].into(), out),
        Values::Int64(numbers) => long(numbers[place], out),
        Values::Micros(moments) => {
            let moment = moments[place];
            if moment % MICROS != 0 {
                return Err(Refused::PartOfMillisecond);
            }
            long(moment / MICROS, out);
        }
        Values::Float32(numbers) => out.extend_from_slice(&numbers[place].to_le_bytes()),
        Values::Float64(numbers) => out.extend_from_slice(&numbers[place].to_le_bytes()),
        Values::Decimal(numbers) => bytes(fewest(&i128::from_le_bytes(numbers[place]).to_be_bytes()), out),
        Values::Bytes(offsets, data) => {
            let (start, end) = between(offsets, place);
            bytes(&data[start..end], out);
        }
        Values::List(offsets, elements) => {
            several(offsets, place, out, |element, out| value(elements, element, out))?;
        }
        Values::Map(offsets, pair, first) => {
            let [keys, values] = &**pair;
            several(offsets, place, out, |entry, out| {
                if keys.is_null(first + entry) {
                    return Err(Refused::NullKey);
                }
                plain(keys, first + entry, out)?;
                value(values, first + entry, out)
            })?;
        }
        Values::Struct(fields, first) => {
            for field in fields {
                value(field, first + place, out)?;
            }
        }
    }
    Ok(())
}

fn between(offsets: &[i32], place: usize) -> (usize, usize) {
    (offsets[place] as usize, offsets[place + 1] as usize)
}

/// Writes the children between two offsets as one block, and the end of blocks.
fn several(
    offsets: &[i32],
    place: usize,
    out: &mut Vec<u8>,
    each: impl Fn(usize, &mut Vec<u8>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let (start, end) = between(offsets, place);
    if start < end {
        long((end - start) as i64, out);
        for number in start..end {
            each(number, out)?;
        }
    }
    out.push(0);
    Ok(())
}

fn bytes(data: &[u8], out: &mut Vec<u8>) {
    long(data.len() as i64, out);
    out.extend_from_slice(data);
}

/// Writes a zigzag varint.
#[inline(always)]
fn long(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Returns a big-endian number in two's complement without the bytes that only repeat its sign.
fn fewest(number: &[u8; 16]) -> &[u8] {
    let sign = if number[0] & 0x80 == 0 { 0 } else { 0xff };
    let mut start = 0;
    while start < 15 && number[start] == sign && (number[start + 1] ^ sign) & 0x80 == 0 {
        start += 1;
    }
    &number[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Bits;

    fn of(values: Values<'_>, length: usize) -> View<'_> {
        View::new(length, None, values)
    }

    fn row(columns: Vec<View<'_>>, length: usize) -> View<'_> {
        of(Values::Struct(columns, 0), length)
    }

    #[test]
    fn numbers_are_zigzag_varints_in_their_shortest_form() {
        let mut out = vec![];
        for number in [0, -1, 1, -64, 64, i64::MAX, i64::MIN] {
            long(number, &mut out);
        }
        let end = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let wanted = [&[0, 1, 2, 127, 128, 1, 0xfe][..], &end[1..], &end[..]].concat();
        assert_eq!(out, wanted);
    }

    #[test]
    fn decimals_have_the_fewest_bytes() {
        for (number, wanted) in [(0, vec![0]), (-1, vec![255]), (127, vec![127]), (128, vec![0, 128]), (-128, vec![128])] {
            assert_eq!(fewest(&i128::to_be_bytes(number)), wanted);
        }
        assert_eq!(fewest(&i128::MIN.to_be_bytes()).len(), 16);
    }

    #[test]
    fn nulls_lists_maps_and_structs_stand_as_the_format_says() {
        let validity = Some(Bits::new(&[0b10], 0));
        let elements = View::new(2, validity, Values::Int8(&[7, -1]));
        let list = of(Values::List(&[0, 2, 2], Box::new(elements)), 2);
        let keys = of(Values::Bytes(&[0, 1], b"k"), 1);
        let flags = of(Values::Boolean(Bits::new(&[0b100], 2)), 1);
        let map = of(Values::Map(&[0, 1, 1], Box::new([keys, flags]), 0), 2);
        let inner = of(Values::Struct(vec![of(Values::Int16(&[9, 1, -2]), 3)], 1), 2);
        let (count, bytes) = encode(&row(vec![list, map, inner], 2), 0, 1000).unwrap();
        assert_eq!(count, 2);
        assert_eq!(bytes, [2, 4, 0, 2, 1, 0, 2, 2, 2, b'k', 2, 1, 0, 2, 2, 2, 2, 0, 2, 0, 2, 2, 3]);
    }

    #[test]
    fn a_block_ends_with_the_row_that_fills_it() {
        let rows = row(vec![of(Values::Int8(&[1; 10]), 10)], 10);
        assert_eq!(encode(&rows, 0, 5).unwrap().0, 3);
        assert_eq!(encode(&rows, 9, 5).unwrap().0, 1);
        assert_eq!(encode(&rows, 10, 5).unwrap(), (0, vec![]));
    }

    #[test]
    fn what_milliseconds_cannot_hold_and_null_keys_are_refused() {
        let times = row(vec![of(Values::Micros(&[-1000, 1]), 2)], 2);
        assert_eq!(encode(&times, 1, 9), Err(Refused::PartOfMillisecond));
        assert_eq!(encode(&times, 0, 1).unwrap(), (1, vec![2, 1]));
        let keys = View::new(1, Some(Bits::new(&[0], 0)), Values::Bytes(&[0, 0], b""));
        let values = of(Values::Int8(&[1]), 1);
        let map = row(vec![of(Values::Map(&[0, 1], Box::new([keys, values]), 0), 1)], 1);
        assert_eq!(encode(&map, 0, 9), Err(Refused::NullKey));
        assert_eq!(encode(&of(Values::Int8(&[1]), 1), 0, 9), Err(Refused::NoStruct));
    }
}
