//! The columns of a table while messages become their rows, whatever format the messages have.

use crate::array::Array;
use crate::columns::Column;
use std::ops::Range;

/// A decoder of batches, whatever format the messages have.
pub trait Batches: Send + Sync {
    /// Reads the messages `data[offsets[i]..offsets[i + 1]]`. Returns for each 1 if it became a row, 0 if it is in doubt.
    ///
    /// Drops rows of an earlier batch that were not taken. Offsets must ascend and lie within the data.
    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8>;

    /// Returns the rows of the messages that were read last.
    fn rows(&mut self) -> &mut Rows;

    /// Returns the keys that no column takes, beginning with key number `met`, and how many keys were met in all.
    fn passed_keys(&self, _met: usize) -> (Vec<String>, usize) {
        (vec![], 0)
    }

    /// Returns how many values of the messages that became rows leeway changed since the last call, by kind.
    fn changed(&mut self) -> Vec<(&'static str, u64)> {
        vec![]
    }
}

/// Rows of a batch. Between messages every column has `count` values; a message that is being read may have added one.
pub struct Rows {
    /// By number
    pub columns: Vec<Column>,
    /// For each column the last message that filled it
    filled_by: Vec<u64>,
    message: u64,
    filled: usize,
    count: usize,
}

impl Rows {
    /// Makes an object without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Rows { filled_by: vec![0; columns.len()], columns, message: 0, filled: 0, count: 0 }
    }

    /// Reads a batch as `Batches::read` does; `row` reads the message in a range of the data, and returns whether it is sound.
    #[inline(always)]
    pub fn read(&mut self, offsets: &[i32], mut row: impl FnMut(Range<usize>, &mut Rows) -> bool) -> Vec<u8> {
        self.clear();
        let mut accepted = Vec::with_capacity(offsets.len());
        for pair in offsets.windows(2) {
            self.begin();
            let sound = row(pair[0] as usize..pair[1] as usize, self);
            if sound {
                self.keep();
            } else {
                self.forget();
            }
            accepted.push(u8::from(sound));
        }
        accepted
    }

    /// Begins a message.
    #[inline(always)]
    fn begin(&mut self) {
        self.message += 1;
        self.filled = 0;
    }

    /// Notes that the current message has filled this column.
    #[inline(always)]
    pub fn fill(&mut self, number: usize) {
        self.filled_by[number] = self.message;
        self.filled += 1;
    }

    /// Keeps the current message as a row, with NULL in the columns that it has not filled.
    #[inline(always)]
    fn keep(&mut self) {
        if self.filled < self.columns.len() {
            for (column, by) in self.columns.iter_mut().zip(&self.filled_by) {
                if *by != self.message {
                    column.push_null();
                }
            }
        }
        self.count += 1;
    }

    /// Removes from the columns what the current message, which is in doubt, has added.
    fn forget(&mut self) {
        let count = self.count;
        self.columns.iter_mut().for_each(|column| column.truncate(count));
    }

    /// Drops all rows.
    fn clear(&mut self) {
        self.count = 0;
        self.forget();
    }

    /// Returns the instants of all columns, in microseconds since 1970 UTC; `take` needs their wall clocks.
    pub fn instants(&mut self) -> Vec<i64> {
        let mut instants = vec![];
        for column in &mut self.columns {
            column.each_moments(&mut |moments| moments.instants(&mut instants));
        }
        instants
    }

    /// Takes the rows, as a struct of the columns; None unless there is one wall clock for each instant.
    pub fn take(&mut self, walls: Vec<i64>) -> Option<Array> {
        if walls.len() != self.instants().len() {
            return None;
        }
        let mut walls = walls.into_iter();
        for column in &mut self.columns {
            column.each_moments(&mut |moments| moments.set_walls(&mut walls));
        }
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        Some(Array::new(std::mem::take(&mut self.count), &[], vec![], columns))
    }
}
