//! Columns of arrays, maps and structs, and the members of a JSON object.

use crate::array::{Array, Buffer};
use crate::columns::{taken, without_those_from, Column, Context, Texts};
use crate::cursor::{Cursor, Doubt, Parsed, MAX_DEPTH};
use crate::keys::{Keys, START};

/// So many keys of a map are compared with each other; more are sorted first.
const FEW: usize = 16;

/// Moves past an opening bracket. `depth`: how many objects and arrays are open around it.
fn open(cursor: &mut Cursor, bracket: u8, depth: u32) -> Parsed<()> {
    if depth >= MAX_DEPTH {
        return Err(Doubt);
    }
    cursor.expect(bracket)?;
    cursor.blanks();
    Ok(())
}

/// Moves past what follows an element or a member; returns whether another one is next.
#[inline(always)]
fn another(cursor: &mut Cursor, close: u8) -> Parsed<bool> {
    if cursor.peek() != b',' {
        cursor.blanks();
    }
    match cursor.bump() {
        b',' => {
            cursor.blanks();
            Ok(true)
        }
        byte if byte == close => Ok(false),
        _ => Err(Doubt),
    }
}

/// Reads an object. Calls `take` for the value of each member that fills a slot, and skips the others.
///
/// Doubt if two members fill the same slot.
#[inline(always)]
pub fn members(
    cursor: &mut Cursor,
    keys: &mut Keys,
    context: &mut Context,
    depth: u32,
    mut take: impl FnMut(&mut Cursor, &mut Context, usize) -> Parsed<()>,
) -> Parsed<()> {
    open(cursor, b'{', depth)?;
    keys.begin();
    if cursor.eat(b'}') {
        return Ok(());
    }
    let mut before = START;
    loop {
        let (key, slot) = keys.find(cursor, before, &mut context.scratch)?;
        before = key;
        match slot {
            Some(slot) => {
                keys.once(slot)?;
                take(cursor, context, slot)?;
            }
            None => cursor.skip(depth + 1)?,
        }
        if !another(cursor, b'}')? {
            return Ok(());
        }
    }
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
