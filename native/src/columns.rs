//! Columns that grow value by value, and the JSON values that each type accepts.

use crate::array::{Array, Buffer};
use crate::base64;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::moments::Moments;
use crate::nested::{List, Map, Struct};
use crate::numbers::decimal_of;
use crate::times;

/// What all columns of a decoder share.
pub struct Context {
    /// Buffer for strings with escapes
    pub scratch: Vec<u8>,
    /// Whether the table's zone is UTC; otherwise the caller converts instants
    pub utc: bool,
}

/// Values of a fixed width; the place of a null holds any value.
#[derive(Default)]
pub struct Fixed<T> {
    pub(crate) values: Vec<T>,
    nulls: Vec<u32>,
}

impl<T: Default + Send + 'static> Fixed<T> {
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.values.len() as u32);
        self.values.push(T::default());
    }

    /// Returns the last value; None if it is null, or if there is none.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<T>
    where
        T: Copy,
    {
        let is_null = self.nulls.last().is_some_and(|place| *place as usize + 1 == self.values.len());
        self.values.last().copied().filter(|_| !is_null)
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
        without_those_from(&mut self.nulls, length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.finish_as(|value| value)
    }

    pub(crate) fn finish_as<U: Send + 'static>(&mut self, convert: impl FnMut(T) -> U) -> Array {
        let values: Vec<U> = taken(&mut self.values).into_iter().map(convert).collect();
        Array::new(values.len(), &taken(&mut self.nulls), vec![Buffer::of(values)], vec![])
    }
}

/// Texts or bytes.
pub struct Texts {
    offsets: Vec<i32>,
    data: Vec<u8>,
    nulls: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Texts { offsets: vec![0], data: vec![], nulls: vec![] }
    }
}

impl Texts {
    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the text or bytes at a place.
    pub fn get(&self, at: usize) -> &[u8] {
        &self.data[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i32);
    }

    /// Appends the first `size` of some bytes. Copying all of them is faster than copying an unknown number.
    #[inline(always)]
    fn push_first(&mut self, bytes: [u8; 16], size: usize) {
        let end = self.data.len() + size;
        self.data.extend_from_slice(&bytes);
        self.data.truncate(end);
        self.offsets.push(end as i32);
    }

    /// Appends a text that may be longer than what was read for it; Doubt if the column would exceed Arrow's 2 GB.
    pub(crate) fn push_within_reach(&mut self, text: &[u8]) -> Parsed<()> {
        if self.data.len() + text.len() > i32::MAX as usize {
            return Err(Doubt);
        }
        self.push(text);
        Ok(())
    }

    fn push_base64(&mut self, text: &[u8]) -> Parsed<()> {
        base64::decode(text, &mut self.data)?;
        self.offsets.push(self.data.len() as i32);
        Ok(())
    }

    fn push_null(&mut self) {
        self.nulls.push(self.count() as u32);
        self.offsets.push(self.data.len() as i32);
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.offsets.truncate(length + 1);
        self.data.truncate(self.offsets[length] as usize);
        without_those_from(&mut self.nulls, length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        let length = self.count();
        let offsets = taken(&mut self.offsets);
        self.offsets.push(0);
        let data = taken(&mut self.data);
        Array::new(length, &taken(&mut self.nulls), vec![Buffer::of(offsets), Buffer::of(data)], vec![])
    }
}

/// Takes all elements out of a vector, and leaves room for as many.
pub(crate) fn taken<T>(elements: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(elements.len());
    std::mem::replace(elements, room)
}

/// Removes the places from `length` on; `places` ascend.
pub(crate) fn without_those_from(places: &mut Vec<u32>, length: usize) {
    while places.last().is_some_and(|place| *place as usize >= length) {
        places.pop();
    }
}

/// A column of the table, or of a list's elements, a map's items, a struct's field.
pub enum Column {
    /// boolean
    Boolean(Fixed<bool>),
    /// tinyint
    Int8(Fixed<i8>),
    /// smallint
    Int16(Fixed<i16>),
    /// int
    Int32(Fixed<i32>),
    /// bigint
    Int64(Fixed<i64>),
    /// float
    Float32(Fixed<f32>),
    /// double
    Float64(Fixed<f64>),
    /// decimal, with precision and scale
    Decimal(Fixed<i128>, u32, u32),
    /// string
    Text(Texts),
    /// binary
    Binary(Texts),
    /// date
    Date(Fixed<i32>),
    /// timestamp, or a date from an epoch number
    Moment(Moments),
    /// array
    List(Box<List>),
    /// map
    Map(Box<Map>),
    /// struct
    Struct(Box<Struct>),
}

/// Evaluates an expression for the content of any variant.
macro_rules! each {
    ($column:expr, $inner:ident => $do:expr) => {
        match $column {
            Column::Boolean($inner) => $do,
            Column::Int8($inner) => $do,
            Column::Int16($inner) => $do,
            Column::Int32($inner) => $do,
            Column::Int64($inner) => $do,
            Column::Float32($inner) => $do,
            Column::Float64($inner) => $do,
            Column::Decimal($inner, _, _) => $do,
            Column::Text($inner) => $do,
            Column::Binary($inner) => $do,
            Column::Date($inner) => $do,
            Column::Moment($inner) => $do,
            Column::List($inner) => $do,
            Column::Map($inner) => $do,
            Column::Struct($inner) => $do,
        }
    };
}

impl Column {
    /// Reads the JSON value at the cursor and appends it. `depth`: how many objects and arrays are open around it.
    ///
    /// After `Doubt` the column may end with a part of the value, which `truncate` removes.
    #[inline(always)]
    pub fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        match self {
            Column::Int64(column) => {
                if let Some(number) = cursor.short_integer() {
                    column.push(number);
                    return Ok(());
                }
            }
            Column::Int32(column) => {
                if let Some(number) = cursor.short_integer() {
                    column.push(number as i32);
                    return Ok(());
                }
            }
            Column::Text(column) => {
                if let Some((bytes, size)) = cursor.short_string() {
                    column.push_first(bytes, size);
                    return Ok(());
                }
            }
            _ => {}
        }
        self.take_any(cursor, context, depth)
    }

    fn take_any(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        if cursor.peek() == b'n' {
            cursor.literal(b"null")?;
            self.push_null();
            return Ok(());
        }
        match self {
            Column::Int32(column) => column.push(cursor.integer(1 << 31)? as i32),
            Column::Int64(column) => column.push(cursor.integer(1 << 63)?),
            Column::Text(column) => column.push(cursor.string(&mut context.scratch)?),
            Column::Float64(column) => column.push(cursor.double()?),
            Column::Moment(column) => column.take(cursor, context)?,
            Column::Int16(column) => column.push(cursor.integer(1 << 15)? as i16),
            Column::Int8(column) => column.push(cursor.integer(1 << 7)? as i8),
            Column::Float32(column) => column.push(cursor.float()?),
            Column::Boolean(column) => {
                let value = cursor.peek() == b't';
                cursor.literal(if value { b"true" } else { b"false" })?;
                column.push(value);
            }
            Column::Decimal(column, precision, scale) => column.push(if cursor.peek() == b'"' {
                decimal_of(cursor.string(&mut context.scratch)?, *precision, *scale)?
            } else {
                cursor.decimal(*precision, *scale)?
            }),
            Column::Date(column) => column.push(times::date(cursor.string(&mut context.scratch)?)?),
            Column::Binary(column) => column.push_base64(cursor.string(&mut context.scratch)?)?,
            Column::List(column) => column.take(cursor, context, depth)?,
            Column::Map(column) => column.take(cursor, context, depth)?,
            Column::Struct(column) => column.take(cursor, context, depth)?,
        }
        Ok(())
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        each!(self, inner => inner.push_null());
    }

    /// Keeps the first `length` values.
    pub fn truncate(&mut self, length: usize) {
        each!(self, inner => inner.truncate(length));
    }

    /// Takes all values out of the column.
    pub fn finish(&mut self) -> Array {
        match self {
            Column::Boolean(column) => finish_bits(column),
            other => each!(other, inner => inner.finish()),
        }
    }

    /// Calls `visit` for every column of moments in this one, always in the same order.
    pub fn each_moments(&mut self, visit: &mut dyn FnMut(&mut Moments)) {
        match self {
            Column::Moment(column) => visit(column),
            Column::List(column) => column.element.each_moments(visit),
            Column::Map(column) => column.item.each_moments(visit),
            Column::Struct(column) => column.fields.iter_mut().for_each(|field| field.each_moments(visit)),
            _ => {}
        }
    }
}

fn finish_bits(column: &mut Fixed<bool>) -> Array {
    let values = taken(&mut column.values);
    let mut bits = vec![0_u8; values.len().div_ceil(8)];
    for (place, value) in values.iter().enumerate() {
        bits[place / 8] |= u8::from(*value) << (place % 8);
    }
    Array::new(values.len(), &taken(&mut column.nulls), vec![Buffer::of(bits)], vec![])
}
