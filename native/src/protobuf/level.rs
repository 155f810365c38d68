//! The fields of one message to columns of the table, or to fields of a struct.

use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::{Bytes, END, LENGTH, START};
use crate::protobuf::shapes::{packable, skip};
use crate::protobuf::values::{Context, Value};
use crate::rows::Rows;

/// How often a field may occur, and what an absent one becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// At most once; absent: NULL
    Optional,
    /// Once; absent: Doubt
    Required,
    /// At most once; absent: its default
    Implicit,
    /// Any number of times; absent: an empty array
    Repeated,
    /// Any number of times; absent: an empty map
    Map,
}

/// A field of a message. Without columns and `inner` it is skipped.
pub struct Slot {
    /// Number in the schema
    pub number: u32,
    /// Wire type of one value
    pub wire: u32,
    /// How often it may occur
    pub label: Label,
    /// The value of an absent field, as the bytes after a tag
    pub default: Vec<u8>,
    /// Number of the oneof that it is a member of
    pub oneof: Option<usize>,
    /// Its shape, to skip it
    pub shape: usize,
    /// Numbers of the columns that take it, and how
    pub columns: Vec<(usize, Value)>,
    /// What to look for in it
    pub inner: Option<Level>,
    /// Number of the last message that had it
    seen: u64,
    /// How many values that message has added
    count: usize,
}

/// A message type at one place of the plan, and the state of the message that is being read there.
pub struct Level {
    slots: Vec<Slot>,
    absent: Vec<usize>,
    /// For each oneof the last message that had a member of it
    oneofs: Vec<u64>,
    /// Number of the current message
    message: u64,
}

/// Where values go.
pub trait Sink {
    /// Returns the column of this number.
    fn column(&mut self, number: usize) -> Parsed<&mut Column>;
    /// Notes that the column has its value of the current message.
    fn filled(&mut self, number: usize);
    /// Notes that the current message has no value for the column.
    fn null(&mut self, number: usize) -> Parsed<()>;
}

impl Sink for Rows {
    #[inline(always)]
    fn column(&mut self, number: usize) -> Parsed<&mut Column> {
        self.columns.get_mut(number).ok_or(Doubt)
    }

    #[inline(always)]
    fn filled(&mut self, number: usize) {
        self.fill(number);
    }

    /// Does nothing: a column that is not filled becomes NULL when the row is kept.
    #[inline(always)]
    fn null(&mut self, _: usize) -> Parsed<()> {
        Ok(())
    }
}

impl Sink for Vec<Column> {
    #[inline(always)]
    fn column(&mut self, number: usize) -> Parsed<&mut Column> {
        self.get_mut(number).ok_or(Doubt)
    }

    #[inline(always)]
    fn filled(&mut self, _: usize) {}

    #[inline(always)]
    fn null(&mut self, number: usize) -> Parsed<()> {
        self.column(number)?.push_null();
        Ok(())
    }
}

impl Slot {
    /// Makes a slot. `kind`: its number, wire type and label.
    pub fn new(
        kind: (u32, u32, Label),
        default: Vec<u8>,
        oneof: Option<usize>,
        shape: usize,
        columns: Vec<(usize, Value)>,
        inner: Option<Level>,
    ) -> Self {
        let (number, wire, label) = kind;
        Slot { number, wire, label, default, oneof, shape, columns, inner, seen: 0, count: 0 }
    }

    fn repeated(&self) -> bool {
        matches!(self.label, Label::Repeated | Label::Map)
    }

    /// Reads a value into all that takes it.
    #[inline(always)]
    fn read<S: Sink>(&mut self, wire: u32, bytes: &mut Bytes, sink: &mut S, context: &Context) -> Parsed<()> {
        if self.repeated() {
            return self.read_more(wire, bytes, sink, context);
        }
        if wire != self.wire {
            return Err(Doubt);
        }
        let start = bytes.at;
        for (number, value) in &mut self.columns {
            bytes.at = start;
            value.read(bytes, sink.column(*number)?, context)?;
            sink.filled(*number);
        }
        if let Some(inner) = &mut self.inner {
            bytes.at = start;
            if self.wire == START {
                bytes.open()?;
                inner.read(bytes, self.number, sink, context)?;
                bytes.close();
            } else {
                inner.read(&mut bytes.inner()?, 0, sink, context)?;
            }
        }
        Ok(())
    }

    /// Reads one value of an array or a map, or a packed part of an array.
    fn read_more<S: Sink>(&mut self, wire: u32, bytes: &mut Bytes, sink: &mut S, context: &Context) -> Parsed<()> {
        let packed = wire != self.wire;
        if packed && (wire != LENGTH || !packable(self.wire)) {
            return Err(Doubt);
        }
        let start = bytes.at;
        let mut added = 0;
        for (number, value) in &mut self.columns {
            bytes.at = start;
            added = 1;
            match sink.column(*number)? {
                Column::List(list) if packed => {
                    let mut part = bytes.packed()?;
                    added = 0;
                    while !part.at_end() {
                        value.read(&mut part, &mut list.element, context)?;
                        added += 1;
                    }
                }
                Column::List(list) => value.read(bytes, &mut list.element, context)?,
                column @ Column::Map(_) => value.read(bytes, column, context)?,
                _ => return Err(Doubt),
            }
        }
        self.count += added;
        Ok(())
    }

    /// Completes the field at the end of its message.
    #[inline(always)]
    fn end<S: Sink>(&mut self, message: u64, sink: &mut S, context: &Context) -> Parsed<()> {
        let is_present = self.seen == message;
        match self.label {
            Label::Repeated | Label::Map => {
                let count = if is_present { self.count } else { 0 };
                for (number, _) in &self.columns {
                    match sink.column(*number)? {
                        Column::List(list) => list.close(count)?,
                        Column::Map(map) => map.close()?,
                        _ => return Err(Doubt),
                    }
                    sink.filled(*number);
                }
            }
            _ if is_present => {}
            Label::Required => return Err(Doubt),
            Label::Optional => self.columns.iter().try_for_each(|(number, _)| sink.null(*number))?,
            Label::Implicit => {
                for (number, value) in &mut self.columns {
                    value.read(&mut Bytes::new(&self.default, 0), sink.column(*number)?, context)?;
                    sink.filled(*number);
                }
            }
        }
        Ok(())
    }
}

impl Level {
    /// `slots` must ascend by their numbers; `absent`: numbers of columns that no field fills.
    pub fn new(slots: Vec<Slot>, absent: Vec<usize>) -> Self {
        let oneofs = slots.iter().filter_map(|slot| slot.oneof).max().map_or(0, |most| most + 1);
        Level { slots, absent, oneofs: vec![0; oneofs], message: 0 }
    }

    /// Returns how many columns the table must have.
    pub fn most_columns(&self) -> usize {
        let of_slot = |slot: &Slot| {
            let own = slot.columns.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
            own.max(slot.inner.as_ref().map_or(0, Level::most_columns))
        };
        self.slots.iter().map(of_slot).max().unwrap_or(0)
    }

    /// Reads all fields: up to the end of `bytes`, or past the end of the group with this number (0: a message).
    pub fn read<S: Sink>(&mut self, bytes: &mut Bytes, group: u32, sink: &mut S, context: &Context) -> Parsed<()> {
        self.message += 1;
        let mut next = 0;
        while group != 0 || !bytes.at_end() {
            let (number, wire) = bytes.tag()?;
            if wire == END && number == group {
                break;
            }
            let Some(place) = self.place(number, next) else {
                bytes.skip(number, wire)?;
                continue;
            };
            next = place;
            let slot = &mut self.slots[place];
            if let Some(oneof) = slot.oneof {
                if std::mem::replace(&mut self.oneofs[oneof], self.message) == self.message {
                    return Err(Doubt);
                }
            }
            let first = slot.seen != self.message;
            if first {
                slot.seen = self.message;
                slot.count = 0;
            }
            if slot.columns.is_empty() && slot.inner.is_none() {
                skip(&context.shapes, (number, slot.repeated(), slot.shape), wire, bytes)?;
            } else if first || slot.repeated() {
                slot.read(wire, bytes, sink, context)?;
            } else {
                return Err(Doubt);
            }
        }
        for slot in &mut self.slots {
            slot.end(self.message, sink, context)?;
        }
        self.absent.iter().try_for_each(|number| sink.null(*number))
    }

    /// Returns the place of the slot with this number, looking first from `from` on: writers' fields nearly always ascend.
    #[inline(always)]
    fn place(&self, number: u32, from: usize) -> Option<usize> {
        let mut place = from;
        if self.slots.get(place).is_some_and(|slot| slot.number > number) {
            return self.slots.binary_search_by_key(&number, |slot| slot.number).ok();
        }
        while let Some(slot) = self.slots.get(place) {
            if slot.number >= number {
                return (slot.number == number).then_some(place);
            }
            place += 1;
        }
        None
    }
}
