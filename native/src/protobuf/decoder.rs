//! Batches of messages of one type to the columns of a table.

use crate::columns::Column;
use crate::protobuf::bytes::Bytes;
use crate::protobuf::level::Level;
use crate::protobuf::values::Context;
use crate::rows::{Batches, Rows};

/// Decodes batches of messages of one type for one table.
pub struct Decoder {
    root: Level,
    context: Context,
    /// Bytes before a message's fields
    head: usize,
    /// Rows of the messages that were read last
    rows: Rows,
}

impl Decoder {
    /// The plan's numbers are positions in `columns`, and in the shapes of `context`.
    pub fn new(columns: Vec<Column>, root: Level, context: Context, head: usize) -> Self {
        Decoder { root, context, head, rows: Rows::new(columns) }
    }
}

impl Batches for Decoder {
    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        let Decoder { root, context, head, rows } = self;
        rows.read(offsets, |place, rows| {
            let message = &data[place];
            message.len() >= *head && root.read(&mut Bytes::new(message, *head), 0, rows, context).is_ok()
        })
    }
}
