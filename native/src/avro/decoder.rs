//! Batches of messages of one writer's schema to the columns of a table.

use crate::avro::bytes::Bytes;
use crate::avro::shapes::skip;
use crate::avro::values::{Context, Value};
use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::rows::{Batches, Rows};

/// A record or a union on the way to the columns' values: the message itself, or a value on a path.
pub enum Way {
    /// record
    Level(Vec<Target>),
    /// union
    Fork(Vec<Way>),
    /// null
    Null,
    /// A branch that no column can use
    Unfit,
}

/// A field on the way to the columns' values. Without columns and `inner` it is skipped.
pub struct Target {
    /// Its shape, to skip it
    pub shape: usize,
    /// Numbers of the columns that take it, and how
    pub columns: Vec<(usize, Value)>,
    /// What to look for in it
    pub inner: Option<Way>,
}

/// Decodes batches of messages of one writer's schema for one table.
pub struct Decoder {
    root: Way,
    /// The columns that take the whole message, and how
    whole: Vec<(usize, Value)>,
    context: Context,
    /// Bytes before a message's record
    head: usize,
    /// Rows of the messages that were read last
    rows: Rows,
    /// How many values became JSON texts
    texts: u64,
}

impl Decoder {
    /// The plan's numbers are positions in `columns`, and in the shapes of `context`.
    pub fn new(columns: Vec<Column>, root: Way, whole: Vec<(usize, Value)>, context: Context, head: usize) -> Self {
        Decoder { root, whole, context, head, rows: Rows::new(columns), texts: 0 }
    }
}

impl Batches for Decoder {
    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        let Decoder { root, whole, context, head, rows, texts } = self;
        rows.read(offsets, |place, rows| {
            let message = &data[place];
            let mut bytes = Bytes::new(message, *head);
            let sound = follow(root, &mut bytes, rows, context).is_ok()
                && bytes.at_end()
                && whole.iter().all(|(number, value)| all_of(message, *head, *number, value, rows, context).is_ok());
            if sound {
                *texts += bytes.format.texts + whole.len() as u64;
            }
            sound
        })
    }

    fn changed(&mut self) -> Vec<(&'static str, u64)> {
        vec![("json", std::mem::take(&mut self.texts))]
    }
}

/// Reads a whole message into the column of this number.
fn all_of(message: &[u8], head: usize, number: usize, value: &Value, rows: &mut Rows, context: &Context) -> Parsed<()> {
    value.read(&mut Bytes::new(message, head), rows.columns.get_mut(number).ok_or(Doubt)?, context)?;
    rows.fill(number);
    Ok(())
}

fn follow(way: &Way, bytes: &mut Bytes, rows: &mut Rows, context: &Context) -> Parsed<()> {
    match way {
        Way::Level(targets) => {
            let before = bytes.at;
            bytes.open()?;
            for target in targets {
                fill(target, bytes, rows, context)?;
            }
            bytes.close();
            bytes.counted(before)
        }
        Way::Fork(branches) => follow(&branches[bytes.index(branches.len())?], bytes, rows, context),
        Way::Null => Ok(()),
        Way::Unfit => Err(Doubt),
    }
}

#[inline(always)]
fn fill(target: &Target, bytes: &mut Bytes, rows: &mut Rows, context: &Context) -> Parsed<()> {
    let start = bytes.at;
    for (number, value) in &target.columns {
        bytes.at = start;
        value.read(bytes, rows.columns.get_mut(*number).ok_or(Doubt)?, context)?;
        rows.fill(*number);
    }
    match &target.inner {
        Some(inner) => {
            bytes.at = start;
            follow(inner, bytes, rows, context)
        }
        None if target.columns.is_empty() => skip(&context.shapes, target.shape, bytes),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::{Fixed, Texts};
    use crate::avro::shapes::Shape;
    use crate::columns::{List, Struct};
    use crate::keys::Keys;

    fn read(decoder: &mut Decoder, messages: &[Vec<u8>]) -> Vec<u8> {
        let mut offsets = vec![0];
        for message in messages {
            offsets.push(offsets[offsets.len() - 1] + message.len() as i32);
        }
        decoder.read(&offsets, &messages.concat())
    }

    /// {i: int, s: [null, string], ignored: map of long, l: array of {x: double}}
    fn all_kinds() -> Decoder {
        let point = Struct::new(
            Keys::new(&["x".into(), "y".into()], false),
            vec![Column::Float64(Fixed::default()), Column::Int8(Fixed::default())],
        );
        let columns = vec![
            Column::Int64(Fixed::default()),
            Column::Text(Texts::default()),
            Column::List(Box::new(List::new(Column::Struct(Box::new(point))))),
            Column::Boolean(Fixed::default()),
        ];
        let row = Value::Row { steps: vec![(Some(0), Value::Double)], absent: vec![1] };
        let target = |columns| Target { shape: 0, columns, inner: None };
        let root = Way::Level(vec![
            target(vec![(0, Value::Int)]),
            target(vec![(1, Value::Choice(vec![Value::Null, Value::Text]))]),
            target(vec![]),
            target(vec![(2, Value::Elements(Box::new(row)))]),
        ]);
        let context = Context { shapes: vec![Shape::Map(1), Shape::Long], forms: vec![], utc: true };
        Decoder::new(columns, root, vec![], context, 1)
    }

    const SEED: &[u8] = b"\0\x7f\x02\x08text\x02\x02k\x04\0\x02\0\0\0\0\0\0\xf8\x3f\0";

    #[test]
    fn damaged_messages_neither_panic_nor_leave_anything_behind() {
        let mut decoder = all_kinds();
        for at in 0..SEED.len() {
            for byte in 0..=255 {
                let mut replaced = SEED.to_vec();
                replaced[at] = byte;
                let mut inserted = SEED.to_vec();
                inserted.insert(at, byte);
                let messages = [SEED.to_vec(), replaced, inserted, SEED[..at].to_vec(), SEED.to_vec()];
                let accepted = read(&mut decoder, &messages);
                assert_eq!((accepted[0], accepted[3], accepted[4]), (1, 0, 1));
                let rows: usize = accepted.iter().map(|row| usize::from(*row)).sum();
                let array = decoder.rows().take(vec![]).unwrap();
                assert_eq!(array.length, rows);
                assert!(array.children.iter().all(|column| column.length == rows));
                assert_eq!(array.children[3].null_count, rows);
            }
        }
    }
}
