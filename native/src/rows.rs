//! The columns of a table while messages become their rows, whatever format the messages have.

use crate::array::Array;
use crate::columns::Column;
use std::ops::Range;

/// A decoder of batches, whatever format the messages have.
pub trait Batches: Send + Sync {
    /// Reads the messages `data[offsets[i]..offsets[i + 1]]`: for each 1 where it became a row, 0 where it is in doubt.
    ///
    /// Rows of a batch before that were not taken out are forgotten. Offsets ascend and lie within the data.
    fn read(&mut self, offsets: &[i32], data: &[u8]) -> Vec<u8>;

    /// Of the messages that were read last
    fn rows(&mut self) -> &mut Rows;

    /// Keys of messages that no column takes, from the `met`th key on; and how many keys were met by now.
    fn passed_keys(&self, _met: usize) -> (Vec<String>, usize) {
        (vec![], 0)
    }
}

/// See the module.
pub struct Rows {
    /// By their numbers; while a message is read some of them may hold its value already
    pub columns: Vec<Column>,
    filled_by: Vec<u64>,
    message: u64,
    filled: usize,
    count: usize,
}

impl Rows {
    /// No rows yet.
    pub fn new(columns: Vec<Column>) -> Self {
        Rows { filled_by: vec![0; columns.len()], columns, message: 0, filled: 0, count: 0 }
    }

    /// As `Batches::read`; `row` reads one message, by its place in the data, and says whether it is a row.
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

    /// A message begins.
    #[inline(always)]
    fn begin(&mut self) {
        self.message += 1;
        self.filled = 0;
    }

    /// The message at hand has filled this column.
    #[inline(always)]
    pub fn fill(&mut self, number: usize) {
        self.filled_by[number] = self.message;
        self.filled += 1;
    }

    /// The message at hand is a row; what it has not filled is NULL.
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

    /// The message at hand is in doubt: whatever it has left in the columns is taken away.
    fn forget(&mut self) {
        let count = self.count;
        self.columns.iter_mut().for_each(|column| column.truncate(count));
    }

    /// Forgets all rows.
    fn clear(&mut self) {
        self.count = 0;
        self.forget();
    }

    /// Instants of all columns, in microseconds from 1970 UTC, whose wall clocks `take` needs.
    pub fn instants(&mut self) -> Vec<i64> {
        let mut instants = vec![];
        for column in &mut self.columns {
            column.each_moments(&mut |moments| moments.instants(&mut instants));
        }
        instants
    }

    /// Takes the rows out, as a struct of the columns; none where there is not a wall clock for each instant.
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
