//! A batch of messages to the columns of a table, and which of them are in doubt.

use crate::arrow::Array;
use crate::columns::{Column, Context};
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::keys::Keys;
use crate::nested::members;

/// One object on the way to the columns' values: the message's own, or one on a path.
pub struct Node {
    keys: Keys,
    targets: Vec<Target>,
}

/// One value: the columns (by number) that take it whole, and what to look for within it.
pub struct Target {
    /// Numbers of columns
    pub columns: Vec<usize>,
    /// For values that must be objects
    pub inner: Option<Node>,
}

impl Node {
    /// `keys` has a slot for each target.
    pub fn new(keys: Keys, targets: Vec<Target>) -> Self {
        Node { keys, targets }
    }
}

/// See the module.
pub struct Decoder {
    columns: Vec<Column>,
    root: Node,
    context: Context,
    filled: Filled,
    rows: usize,
}

/// Which columns the message at hand has filled.
struct Filled {
    by: Vec<u64>,
    message: u64,
    count: usize,
}

impl Decoder {
    /// Each column is the target of one value below `root`.
    pub fn new(columns: Vec<Column>, root: Node, utc: bool) -> Self {
        let filled = Filled { by: vec![0; columns.len()], message: 0, count: 0 };
        Decoder { columns, root, context: Context { scratch: vec![], utc }, filled, rows: 0 }
    }

    /// Reads the messages `data[offsets[i]..offsets[i + 1]]`: for each 1 where it became a row, 0 where it is in doubt.
    ///
    /// Rows of a batch before that were not taken out are forgotten. Offsets ascend and lie within the data.
    pub fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        self.truncate(0);
        let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let whole = std::str::from_utf8(&data[first..last]).ok();
        let mut accepted = Vec::with_capacity(offsets.len());
        for pair in offsets.windows(2) {
            let (start, end) = (pair[0] as usize, pair[1] as usize);
            let message = &data[start..end];
            // a part of UTF-8 text is UTF-8 where it begins and ends between two letters
            let sound = match whole {
                Some(text) => text.is_char_boundary(start - first) && text.is_char_boundary(end - first),
                None => std::str::from_utf8(message).is_ok(),
            };
            if sound && self.row(message).is_ok() {
                self.rows += 1;
                accepted.push(1);
            } else {
                self.truncate(self.rows);
                accepted.push(0);
            }
        }
        accepted
    }

    /// Instants of all columns, in microseconds from 1970 UTC, whose wall clocks `rows` needs.
    pub fn instants(&mut self) -> Vec<i64> {
        let mut instants = vec![];
        for column in &mut self.columns {
            column.each_moments(&mut |moments| moments.instants(&mut instants));
        }
        instants
    }

    /// Takes the rows out, as a struct of the columns.
    pub fn rows(&mut self, walls: Vec<i64>) -> Array {
        let mut walls = walls.into_iter();
        for column in &mut self.columns {
            column.each_moments(&mut |moments| moments.set_walls(&mut walls));
        }
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        Array::new(std::mem::take(&mut self.rows), &[], vec![], columns)
    }

    fn truncate(&mut self, rows: usize) {
        self.rows = rows;
        self.columns.iter_mut().for_each(|column| column.truncate(rows));
    }

    fn row(&mut self, message: &[u8]) -> Parsed<()> {
        let mut cursor = Cursor::new(message);
        cursor.blanks();
        self.filled.message += 1;
        self.filled.count = 0;
        fill(&mut self.root, &mut cursor, &mut self.columns, &mut self.filled, &mut self.context, 0)?;
        cursor.blanks();
        if cursor.at != message.len() {
            return Err(Doubt);
        }
        if self.filled.count < self.columns.len() {
            for (column, by) in self.columns.iter_mut().zip(&self.filled.by) {
                if *by != self.filled.message {
                    column.push_null();
                }
            }
        }
        Ok(())
    }
}

fn fill(
    node: &mut Node,
    cursor: &mut Cursor,
    columns: &mut [Column],
    filled: &mut Filled,
    context: &mut Context,
    depth: u32,
) -> Parsed<()> {
    let Node { keys, targets } = node;
    members(cursor, keys, context, depth, |cursor, context, slot| {
        let target = &mut targets[slot];
        let start = cursor.at;
        let mut end = None;
        for number in &target.columns {
            cursor.at = start;
            columns[*number].take(cursor, context, depth + 1)?;
            filled.by[*number] = filled.message;
            filled.count += 1;
            // a column may stop within what is no value of its kind (1.5): whoever follows must not go on from there
            if *end.get_or_insert(cursor.at) != cursor.at {
                return Err(Doubt);
            }
        }
        if let Some(inner) = &mut target.inner {
            cursor.at = start;
            if cursor.peek() == b'n' {
                cursor.literal(b"null")?;
            } else {
                fill(inner, cursor, columns, filled, context, depth + 1)?;
            }
            if *end.get_or_insert(cursor.at) != cursor.at {
                return Err(Doubt);
            }
        }
        Ok(())
    })
}
