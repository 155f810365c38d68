//! A batch of messages of one type to the columns of a table, and which of them are in doubt.

use crate::columns::Column;
use crate::protobuf::bytes::Bytes;
use crate::protobuf::level::Level;
use crate::protobuf::values::Context;
use crate::rows::Rows;

/// See the module.
pub struct Decoder {
    root: Level,
    context: Context,
    /// Bytes of a message before its fields
    head: usize,
    /// Of the messages that were read last
    pub rows: Rows,
}

impl Decoder {
    /// The plan's numbers are those of `columns`, and of the shapes in `context`.
    pub fn new(columns: Vec<Column>, root: Level, context: Context, head: usize) -> Self {
        Decoder { root, context, head, rows: Rows::new(columns) }
    }

    /// Reads the messages `data[offsets[i]..offsets[i + 1]]`: for each 1 where it became a row, 0 where it is in doubt.
    ///
    /// Rows of a batch before that were not taken out are forgotten. Offsets ascend and lie within the data.
    pub fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        self.rows.clear();
        let mut accepted = Vec::with_capacity(offsets.len());
        for pair in offsets.windows(2) {
            let message = &data[pair[0] as usize..pair[1] as usize];
            self.rows.begin();
            let sound = message.len() >= self.head
                && self.root.read(&mut Bytes::new(message, self.head), 0, &mut self.rows, &self.context).is_ok();
            if sound {
                self.rows.keep();
            } else {
                self.rows.forget();
            }
            accepted.push(u8::from(sound));
        }
        accepted
    }
}
