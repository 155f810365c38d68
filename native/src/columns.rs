//! Columns of every type, and the JSON values that each of them accepts.

use crate::array::{Array, Buffer};
use crate::arrays::{taken, without_those_from, Fixed, Texts};
use crate::brackets::{another, members, open};
use crate::canonical::Canonical;
use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::keys::Keys;
use crate::loose::Loose;
use crate::moments::Moments;
use crate::numbers::decimal_of;
use crate::times;
use crate::unscaled::Unscaled;

/// So many keys of a map are compared with each other; more are sorted first.
const FEW: usize = 16;

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
    /// decimal from its unscaled number as bytes in base64
    Unscaled(Box<Unscaled>),
    /// A type whose values may have other forms
    Loose(Box<Loose>),
    /// Any type, of which only nulls are accepted
    Never(Box<Column>),
    /// string
    Text(Texts),
    /// string, which also takes the characters of any other JSON value
    Json(Texts),
    /// The characters of an object; with `true` NaN and the infinities may be in it
    Object(Texts, bool),
    /// string, which also takes the canonical text of any other JSON value
    Canonical(Box<Canonical>),
    /// Times as they are written: strings, whole numbers, and with `true` arrays of them, without white space
    Times(Texts, bool),
    /// Numbers as they are written
    Number(Texts),
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
            Column::Unscaled($inner) => $do,
            Column::Loose($inner) => $do,
            Column::Never($inner) => $do,
            Column::Text($inner) | Column::Json($inner) | Column::Object($inner, _) => $do,
            Column::Canonical($inner) => $do,
            Column::Times($inner, _) | Column::Number($inner) => $do,
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
            Column::Text(column) | Column::Json(column) => {
                if let Some((bytes, size)) = cursor.short_string() {
                    column.push_first(bytes, size);
                    return Ok(());
                }
            }
            Column::Loose(column) => {
                let start = cursor.at;
                if column.take_short(cursor, context).is_some() {
                    return Ok(());
                }
                cursor.at = start;
                return column.take(cursor, context, depth);
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
            Column::Json(column) => match cursor.peek() {
                b'"' => column.push(cursor.string(&mut context.scratch)?),
                _ => {
                    let start = cursor.at;
                    cursor.skip(depth)?;
                    column.push(cursor.text.get(start..cursor.at).ok_or(Doubt)?);
                    context.changed.json += 1;
                }
            },
            Column::Object(column, non_finite) => {
                if cursor.peek() != b'{' {
                    return Err(Doubt);
                }
                let start = cursor.at;
                if cursor.skip(depth).is_err() {
                    if !*non_finite {
                        return Err(Doubt);
                    }
                    cursor.at = start;
                    cursor.skip_with_non_finite(depth)?;
                    context.with_non_finite += 1;
                }
                column.push(cursor.text.get(start..cursor.at).ok_or(Doubt)?);
            }
            Column::Canonical(column) => column.take(cursor, context, depth)?,
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
            Column::Unscaled(column) => column.take(cursor, context)?,
            Column::Loose(column) => column.take(cursor, context, depth)?, // `take` comes here for no such column
            Column::Never(_) => return Err(Doubt),
            Column::Times(column, arrays) => match cursor.peek() {
                b'"' => column.push(cursor.string(&mut context.scratch)?),
                b'[' if *arrays => {
                    let start = cursor.at;
                    cursor.skip(depth)?;
                    let inner = cursor.text.get(start + 1..cursor.at - 1).ok_or(Doubt)?;
                    let digits = |byte: &u8| byte.is_ascii_digit() || b", \t\r\n".contains(byte);
                    if !inner.iter().all(digits) {
                        return Err(Doubt);
                    }
                    context.scratch.clear();
                    let whole = cursor.text.get(start..cursor.at).ok_or(Doubt)?;
                    context.scratch.extend(whole.iter().filter(|byte| **byte > b' '));
                    column.push(&context.scratch);
                }
                _ => {
                    let number = number(cursor)?;
                    if !number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
                        return Err(Doubt);
                    }
                    column.push(number);
                }
            },
            Column::Number(column) => column.push(number(cursor)?),
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
            Column::Loose(column) => column.inner.each_moments(visit),
            Column::List(column) => column.element.each_moments(visit),
            Column::Map(column) => column.item.each_moments(visit),
            Column::Struct(column) => column.fields.iter_mut().for_each(|field| field.each_moments(visit)),
            _ => {}
        }
    }
}

/// Reads a JSON number. Returns its characters.
fn number<'a>(cursor: &mut Cursor<'a>) -> Parsed<&'a [u8]> {
    let start = cursor.at;
    cursor.skip_number()?;
    cursor.text.get(start..cursor.at).ok_or(Doubt)
}

fn finish_bits(column: &mut Fixed<bool>) -> Array {
    let values = taken(&mut column.values);
    let mut bits = vec![0_u8; values.len().div_ceil(8)];
    for (place, value) in values.iter().enumerate() {
        bits[place / 8] |= u8::from(*value) << (place % 8);
    }
    Array::new(values.len(), &taken(&mut column.nulls), vec![Buffer::of(bits)], vec![])
}

/// Offsets of lists or maps: where the children of each begin and end, and which of them are null.
struct Ends {
    offsets: Vec<i32>,
    nulls: Vec<u32>,
}

impl Ends {
    fn new() -> Self {
        Ends { offsets: vec![0], nulls: vec![] }
    }

    fn last(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    fn push(&mut self, end: usize) -> Parsed<()> {
        self.offsets.push(i32::try_from(end).map_err(|_| Doubt)?);
        Ok(())
    }

    fn push_null(&mut self) {
        self.nulls.push(self.offsets.len() as u32 - 1);
        self.offsets.push(self.last() as i32);
    }

    /// Keeps the first `length` lists; returns how many children these have.
    fn truncate(&mut self, length: usize) -> usize {
        self.offsets.truncate(length + 1);
        without_those_from(&mut self.nulls, length);
        self.last()
    }

    fn finish(&mut self, children: Array) -> Array {
        let offsets = taken(&mut self.offsets);
        self.offsets.push(0);
        Array::new(offsets.len() - 1, &taken(&mut self.nulls), vec![Buffer::of(offsets)], vec![children])
    }
}

/// array<element>
pub struct List {
    ends: Ends,
    /// Elements of all arrays
    pub element: Column,
}

impl List {
    /// Makes an empty column.
    pub fn new(element: Column) -> Self {
        List { ends: Ends::new(), element }
    }

    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        open(cursor, b'[', depth)?;
        let mut end = self.ends.last() as i32;
        if !cursor.eat(b']') {
            loop {
                self.element.take(cursor, context, depth + 1)?;
                end += 1;
                if !another(cursor, b']')? {
                    break;
                }
            }
        }
        self.ends.offsets.push(end);
        Ok(())
    }

    /// Makes an array of the last `elements` values of `element`.
    pub(crate) fn close(&mut self, elements: usize) -> Parsed<()> {
        self.ends.push(self.ends.last() + elements)
    }

    pub(crate) fn push_null(&mut self) {
        self.ends.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.element.truncate(self.ends.truncate(length));
    }

    pub(crate) fn finish(&mut self) -> Array {
        let elements = self.element.finish();
        self.ends.finish(elements)
    }
}

/// map<string,item>
pub struct Map {
    ends: Ends,
    /// Keys of all maps
    pub(crate) keys: Texts,
    /// Items of all maps
    pub item: Column,
}

impl Map {
    /// Makes an empty column.
    pub fn new(item: Column) -> Self {
        Map { ends: Ends::new(), keys: Texts::default(), item }
    }

    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        open(cursor, b'{', depth)?;
        if !cursor.eat(b'}') {
            loop {
                self.keys.push(cursor.string(&mut context.scratch)?);
                cursor.colon()?;
                self.item.take(cursor, context, depth + 1)?;
                if !another(cursor, b'}')? {
                    break;
                }
            }
        }
        self.close()
    }

    /// Makes a map of what was appended to `keys` and `item` since the last one; Doubt if a key repeats.
    pub(crate) fn close(&mut self) -> Parsed<()> {
        self.distinct()?;
        self.ends.push(self.keys.count())
    }

    /// Returns Doubt if a key repeats in the map that is not closed yet.
    fn distinct(&self) -> Parsed<()> {
        let new = self.ends.last()..self.keys.count();
        let twice = if new.len() <= FEW {
            new.clone().any(|one| (new.start..one).any(|other| self.keys.get(one) == self.keys.get(other)))
        } else {
            let mut sorted: Vec<&[u8]> = new.map(|at| self.keys.get(at)).collect();
            sorted.sort_unstable();
            sorted.windows(2).any(|pair| pair[0] == pair[1])
        };
        if twice {
            return Err(Doubt);
        }
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        self.ends.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        let children = self.ends.truncate(length);
        self.keys.truncate(children);
        self.item.truncate(children);
    }

    pub(crate) fn finish(&mut self) -> Array {
        let length = self.keys.count();
        let entries = Array::new(length, &[], vec![], vec![self.keys.finish(), self.item.finish()]);
        self.ends.finish(entries)
    }
}

/// struct<fields>
pub struct Struct {
    length: usize,
    nulls: Vec<u32>,
    keys: Keys,
    /// In the order of the type
    pub fields: Vec<Column>,
}

impl Struct {
    /// Makes an empty column; `keys` must have a slot for each field.
    pub fn new(keys: Keys, fields: Vec<Column>) -> Self {
        Struct { length: 0, nulls: vec![], keys, fields }
    }

    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        let fields = &mut self.fields;
        members(cursor, &mut self.keys, context, depth, |cursor, context, slot| fields[slot].take(cursor, context, depth + 1))?;
        if self.keys.filled < self.fields.len() {
            for (slot, field) in self.fields.iter_mut().enumerate() {
                if !self.keys.has(slot) {
                    field.push_null();
                }
            }
        }
        self.close();
        Ok(())
    }

    /// Makes a struct of the last value of each of `fields`.
    pub(crate) fn close(&mut self) {
        self.length += 1;
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.length as u32);
        self.length += 1;
        self.fields.iter_mut().for_each(Column::push_null);
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = length;
        without_those_from(&mut self.nulls, length);
        self.fields.iter_mut().for_each(|field| field.truncate(length));
    }

    pub(crate) fn finish(&mut self) -> Array {
        let fields = self.fields.iter_mut().map(Column::finish).collect();
        let length = std::mem::take(&mut self.length);
        Array::new(length, &taken(&mut self.nulls), vec![], fields)
    }
}
