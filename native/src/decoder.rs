//! Batches of JSON messages to the columns of a table.

use crate::brackets::members;
use crate::columns::Column;
use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::keys::Keys;
use crate::rows::{Batches, Rows};

/// An object on the way to the columns' values: the message itself, or an object on a path.
pub struct Node {
    keys: Keys,
    targets: Vec<Target>,
}

/// A value that columns take, or that leads to such values.
pub enum Target {
    /// The number of the one column that takes it whole
    Column(usize),
    /// Columns and paths that lead into it
    Several {
        /// The numbers of the columns that take it whole
        columns: Vec<usize>,
        /// What to look for in it; then it must be an object or null
        inner: Option<Node>,
    },
}

impl Node {
    /// `keys` must have a slot for each target.
    pub fn new(keys: Keys, targets: Vec<Target>) -> Self {
        Node { keys, targets }
    }
}

/// Decodes batches of JSON messages for one table.
pub struct Decoder {
    root: Node,
    /// The numbers of the columns that take whole messages
    whole: Vec<usize>,
    context: Context,
    /// Rows of the messages that were read last
    rows: Rows,
}

impl Decoder {
    /// `columns`: empty; each of them must be in `whole`, or the target of exactly one value below `root`.
    pub fn new(columns: Vec<Column>, root: Node, whole: Vec<usize>, utc: bool) -> Self {
        Decoder {
            root,
            whole,
            context: Context { scratch: vec![], utc, changed: Default::default(), with_non_finite: 0 },
            rows: Rows::new(columns),
        }
    }
}

impl Batches for Decoder {
    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        let Decoder { root, whole: columns, context, rows } = self;
        let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let batch = &data[first..last];
        let ascii = batch.is_ascii();
        let whole = if ascii { None } else { std::str::from_utf8(batch).ok() };
        rows.read(offsets, |place, rows| {
            // a part of a UTF-8 text is UTF-8 if it begins and ends between two characters
            let sound = match whole {
                _ if ascii => true,
                Some(text) => text.is_char_boundary(place.start - first) && text.is_char_boundary(place.end - first),
                None => std::str::from_utf8(&data[place.clone()]).is_ok(),
            };
            let changed = context.changed;
            let sound = sound && row(root, columns, &data[place], rows, context).is_ok();
            if !sound {
                context.changed = changed;
            }
            sound
        })
    }

    fn passed_keys(&self, met: usize) -> (Vec<String>, usize) {
        self.root.keys.passed(met)
    }

    fn changed(&mut self) -> Vec<(&'static str, u64)> {
        let changed = std::mem::take(&mut self.context.changed);
        vec![
            ("json", changed.json),
            ("quoted", changed.quoted),
            ("empty", changed.empty),
            ("whole", changed.whole),
            ("booleans", changed.booleans),
            ("numbers", changed.numbers),
            ("non_finite", changed.non_finite),
            ("beyond", changed.beyond),
        ]
    }
}

fn row(root: &mut Node, whole: &[usize], message: &[u8], rows: &mut Rows, context: &mut Context) -> Parsed<()> {
    let mut cursor = Cursor::new(message);
    cursor.blanks();
    let start = cursor.at;
    let non_finite = (context.changed.non_finite, context.with_non_finite);
    fill(root, &mut cursor, rows, context, 0)?;
    if (context.changed.non_finite, context.with_non_finite) != non_finite && !whole.is_empty() {
        Cursor { text: message, at: start }.skip(0)?; // a text of the whole message has no NaN outside quotes
    }
    for number in whole {
        if let Column::Json(texts) = &mut rows.columns[*number] {
            texts.push(message.get(start..cursor.at).ok_or(Doubt)?);
            context.changed.json += 1;
        } else {
            cursor.at = start;
            rows.columns[*number].take(&mut cursor, context, 0)?;
        }
        rows.fill(*number);
    }
    cursor.blanks();
    if cursor.at != message.len() {
        return Err(Doubt);
    }
    Ok(())
}

fn fill(node: &mut Node, cursor: &mut Cursor, rows: &mut Rows, context: &mut Context, depth: u32) -> Parsed<()> {
    let Node { keys, targets } = node;
    members(cursor, keys, context, depth, |cursor, context, slot| {
        let (columns, inner) = match &mut targets[slot] {
            Target::Column(number) => {
                rows.columns[*number].take(cursor, context, depth + 1)?;
                rows.fill(*number);
                return Ok(());
            }
            Target::Several { columns, inner } => (columns, inner),
        };
        let start = cursor.at;
        let mut end = None;
        for number in columns {
            cursor.at = start;
            rows.columns[*number].take(cursor, context, depth + 1)?;
            rows.fill(*number);
            // an integer column stops at the point of 1.5: columns that end at different places do not take the same value
            if *end.get_or_insert(cursor.at) != cursor.at {
                return Err(Doubt);
            }
        }
        if let Some(inner) = inner {
            cursor.at = start;
            if cursor.peek() == b'n' {
                cursor.literal(b"null")?;
            } else {
                fill(inner, cursor, rows, context, depth + 1)?;
            }
            if *end.get_or_insert(cursor.at) != cursor.at {
                return Err(Doubt);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::{Fixed, Texts};
    use crate::columns::{List, Map, Struct};
    use crate::moments::{Form, Moments};

    const NAMES: [&str; 9] = ["i", "s", "x", "m", "t", "b", "l", "o", "k"];

    fn all_kinds() -> Decoder {
        let inner = Struct::new(Keys::new(&["y".into()], false), vec![Column::Decimal(Fixed::default(), 9, 2)]);
        let columns = vec![
            Column::Int64(Fixed::default()),
            Column::Text(Texts::default()),
            Column::Float64(Fixed::default()),
            Column::Float32(Fixed::default()),
            Column::Moment(Moments::new(Form::Text)),
            Column::Binary(Texts::default()),
            Column::List(Box::new(List::new(Column::Struct(Box::new(inner))))),
            Column::Map(Box::new(Map::new(Column::List(Box::new(List::new(Column::Boolean(Fixed::default()))))))),
            Column::Date(Fixed::default()),
        ];
        let targets = (0..columns.len()).map(Target::Column).collect();
        Decoder::new(columns, Node::new(Keys::new(&NAMES.map(String::from), false), targets), vec![], true)
    }

    fn read(decoder: &mut Decoder, messages: &[Vec<u8>]) -> Vec<u8> {
        let mut offsets = vec![0];
        for message in messages {
            offsets.push(offsets[offsets.len() - 1] + message.len() as i32);
        }
        decoder.read(&offsets, &messages.concat())
    }

    const SEED: &str = r#"{"i":-12,"s":"a \"text\" é","x":1.25e3,"m":0.1,"t":"2013-01-01T05:00:00.5Z","b":"aGFsbG8=","l":[{"y":1.5},null,{}],"o":{"a":[true,null],"b":null},"k":"2013-02-28","z":{"q":[1,{}]}}"#;

    #[test]
    fn damaged_messages_neither_panic_nor_leave_anything_behind() {
        let mut decoder = all_kinds();
        let mut state: u64 = 7;
        let mut dice = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut undamaged = 0;
        for _ in 0..200 {
            let mut messages = vec![];
            for _ in 0..20 {
                let mut message = SEED.as_bytes().to_vec();
                for _ in 0..dice(3) {
                    let at = dice(message.len());
                    match dice(4) {
                        0 => message[at] = dice(256) as u8,
                        1 => message.insert(at, b"{}[]\",:\\0-.eEu"[dice(14)]),
                        2 => message.truncate(at + 1),
                        _ => drop(message.remove(at)),
                    }
                }
                messages.push(message);
            }
            let accepted = read(&mut decoder, &messages);
            let rows: usize = accepted.iter().map(|row| usize::from(*row)).sum();
            let array = decoder.rows().take(vec![]).unwrap();
            assert_eq!(array.length, rows);
            assert!(array.children.iter().all(|column| column.length == rows));
            let whole = messages.iter().zip(&accepted).filter(|(message, _)| *message == SEED.as_bytes());
            for (_, row) in whole {
                assert_eq!(*row, 1);
                undamaged += 1;
            }
        }
        assert!(undamaged > 1000);
    }

    #[test]
    fn parts_of_letters_are_in_doubt_though_all_messages_together_are_text() {
        let mut decoder = all_kinds();
        let (one, other) = (br#"{"s":""#.as_slice(), br#""}"#.as_slice());
        let messages = [[one, &"é".as_bytes()[..1]].concat(), [&"é".as_bytes()[1..], other].concat(), [one, other].concat()];
        assert_eq!(read(&mut decoder, &messages), [0, 0, 1]);
    }

    #[test]
    fn one_value_for_two_columns_is_taken_by_both_or_none() {
        let columns = vec![Column::Int64(Fixed::default()), Column::Decimal(Fixed::default(), 9, 2)];
        let target = Target::Several { columns: vec![0, 1], inner: None };
        let mut decoder = Decoder::new(columns, Node::new(Keys::new(&["v".into()], false), vec![target]), vec![], true);
        let messages = [r#"{"v":1}"#, r#"{"v":1.5}"#, r#"{"v":null}"#, "{}"].map(|text| text.as_bytes().to_vec());
        assert_eq!(read(&mut decoder, &messages), [1, 0, 1, 1]);
    }
}
