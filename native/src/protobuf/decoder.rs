//! Batches of messages of one type to the columns of a table.

use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::Bytes;
use crate::protobuf::level::Level;
use crate::protobuf::texts::Json;
use crate::protobuf::values::Context;
use crate::rows::{Batches, Rows};

/// Decodes batches of messages of one type for one table.
pub struct Decoder {
    root: Level,
    /// The columns that take the whole message, and how
    whole: Vec<(usize, Json)>,
    /// The columns that become JSON texts, and how many texts they have had since they were counted
    texts: (Vec<usize>, u64),
    context: Context,
    /// Bytes before a message's fields
    head: usize,
    /// Rows of the messages that were read last
    rows: Rows,
}

impl Decoder {
    /// The plan's numbers are positions in `columns`, and in the shapes of `context`.
    pub fn new(columns: Vec<Column>, root: Level, whole: Vec<(usize, Json)>, context: Context, head: usize) -> Self {
        let mut texts = whole.iter().map(|(number, _)| *number).collect();
        root.json_columns(&mut texts);
        Decoder { root, whole, texts: (texts, 0), context, head, rows: Rows::new(columns) }
    }
}

impl Batches for Decoder {
    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8> {
        let Decoder { root, whole, texts, context, head, rows } = self;
        let accepted = rows.read(offsets, |place, rows| {
            let message = &data[place];
            message.len() >= *head
                && root.read(&mut Bytes::new(message, *head), 0, rows, context).is_ok()
                && whole.iter().all(|(number, json)| all_of(message, *head, *number, json, rows, context).is_ok())
        });
        for number in &texts.0 {
            if let Some(Column::Text(column)) = rows.columns.get(*number) {
                texts.1 += column.filled() as u64;
            }
        }
        accepted
    }

    fn changed(&mut self) -> Vec<(&'static str, u64)> {
        vec![("json", std::mem::take(&mut self.texts.1))]
    }
}

/// Reads a whole message into the column of this number.
fn all_of(message: &[u8], head: usize, number: usize, json: &Json, rows: &mut Rows, context: &Context) -> Parsed<()> {
    let Some(Column::Text(column)) = rows.columns.get_mut(number) else { return Err(Doubt) };
    json.read_whole(&context.forms, &mut Bytes::new(message, head), column)?;
    rows.fill(number);
    Ok(())
}
