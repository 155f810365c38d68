//! The columns of a table while messages become their rows, whatever format the messages have.

use crate::array::Array;
use crate::columns::Column;

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

    /// A message begins.
    #[inline(always)]
    pub fn begin(&mut self) {
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
    pub fn keep(&mut self) {
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
    pub fn forget(&mut self) {
        let count = self.count;
        self.columns.iter_mut().for_each(|column| column.truncate(count));
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
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
