//! The fields of one message to columns of the table, or to fields of a struct.

use crate::columns::Column;
use crate::cursor::{Doubt, Parsed};
use crate::protobuf::bytes::{Bytes, END, LENGTH, START};
use crate::protobuf::integers::Kind;
use crate::protobuf::places::Places;
use crate::protobuf::shapes::{packable, skip};
use crate::protobuf::texts::Json;
use crate::protobuf::values::{places, Context, Leaf, Scalar};
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
    /// How many values the message that is being read has added
    count: usize,
}

/// What the usual case of a field needs: one column takes its only value, and its tag has one byte or two.
struct Plain {
    /// The tag and a byte behind it if it is shorter than two bytes, as far as `mask` says
    tag: u16,
    mask: u16,
    /// Bytes of the tag
    size: usize,
    column: usize,
    scalar: Scalar,
}

/// A message type at one place of the plan, and the state of the message that is being read there.
pub struct Level {
    slots: Vec<Slot>,
    /// For each slot its usual case, if it has one
    plain: Vec<Option<Plain>>,
    absent: Vec<usize>,
    /// The slots that the current message has had
    seen: Places,
    /// The slots that are completed at the end of every message
    repeated: Places,
    /// For each oneof the last message that had a member of it
    oneofs: Vec<u64>,
    /// Number of the current message
    message: u64,
}

/// What to do with a value; plan.py explains the same steps.
pub enum Value {
    /// A value that is read in one step
    Scalar(Scalar),
    /// Any other value that contains none
    Leaf(Leaf),
    /// A message of google/protobuf/wrappers.proto: how to take its field, the field's wire type and default
    Wrapped(Box<Value>, u32, Vec<u8>),
    /// message or group to a struct; the group's number, 0 for a message
    Row(Box<Level>, u32),
    /// An entry of a map: the key's type (None: string), then the value as for Wrapped
    Entry(Option<Kind>, Box<Value>, u32, Vec<u8>),
    /// All values of a field to a JSON text
    Json(Box<Json>),
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
        Slot { number, wire, label, default, oneof, shape, columns, inner, count: 0 }
    }

    fn repeated(&self) -> bool {
        matches!(self.label, Label::Repeated | Label::Map)
    }

    fn plain(&self) -> Option<Plain> {
        let [(column, value)] = &self.columns[..] else { return None };
        if self.repeated() || self.oneof.is_some() || self.inner.is_some() || self.number >= 1 << 11 {
            return None;
        }
        let (low, high) = ((self.number << 3 | self.wire) & 0x7f, self.number >> 4);
        let (tag, mask, size) = if high == 0 { (low, 0xff, 1) } else { (high << 8 | 0x80 | low, 0xffff, 2) };
        Some(Plain { tag: tag as u16, mask, size, column: *column, scalar: value.scalar()? })
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
                Column::Text(texts) => {
                    let Value::Json(json) = value else { return Err(Doubt) };
                    json.read_more(&context.forms, wire, bytes, texts)?;
                }
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

    /// Completes a repeated field, or an absent one, at the end of its message.
    #[inline(always)]
    fn end<S: Sink>(&mut self, is_present: bool, sink: &mut S, context: &Context) -> Parsed<()> {
        match self.label {
            Label::Repeated | Label::Map => {
                let count = if is_present { self.count } else { 0 };
                for (number, value) in &mut self.columns {
                    if let (Value::Json(json), false) = (&mut *value, is_present) {
                        json.begin();
                    }
                    match sink.column(*number)? {
                        Column::Text(texts) => {
                            let Value::Json(json) = value else { return Err(Doubt) };
                            json.close(texts)?;
                        }
                        Column::List(list) => list.close(count)?,
                        Column::Map(map) => map.close()?,
                        _ => return Err(Doubt),
                    }
                    sink.filled(*number);
                }
            }
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
        let plain = slots.iter().map(Slot::plain).collect();
        let mut repeated = Places::none_of(slots.len());
        for place in (0..slots.len()).filter(|place| slots[*place].repeated()) {
            repeated.insert(place);
        }
        let seen = Places::none_of(slots.len());
        Level { slots, plain, absent, seen, repeated, oneofs: vec![0; oneofs], message: 0 }
    }

    /// Returns how many columns the table must have.
    pub fn most_columns(&self) -> usize {
        let of_slot = |slot: &Slot| {
            let own = slot.columns.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
            own.max(slot.inner.as_ref().map_or(0, Level::most_columns))
        };
        self.slots.iter().map(of_slot).max().unwrap_or(0)
    }

    /// Appends the numbers of the columns that become JSON texts.
    pub fn json_columns(&self, to: &mut Vec<usize>) {
        for slot in &self.slots {
            to.extend(slot.columns.iter().filter(|(_, value)| matches!(value, Value::Json(_))).map(|(number, _)| *number));
            if let Some(inner) = &slot.inner {
                inner.json_columns(to);
            }
        }
    }

    /// Reads all fields: up to the end of `bytes`, or past the end of the group with this number (0: a message).
    pub fn read<S: Sink>(&mut self, bytes: &mut Bytes, group: u32, sink: &mut S, context: &Context) -> Parsed<()> {
        self.message += 1;
        self.seen.clear();
        let mut next = 0;
        while group != 0 || !bytes.at_end() {
            if let Some(Some(plain)) = self.plain.get(next) {
                if bytes.next_two().is_some_and(|two| two & plain.mask == plain.tag) && self.seen.insert(next) {
                    bytes.at += plain.size;
                    plain.scalar.read(bytes, sink.column(plain.column)?, context)?;
                    sink.filled(plain.column);
                    next += 1;
                    continue;
                }
            }
            let (number, wire) = bytes.tag()?;
            if wire == END && number == group {
                break;
            }
            match self.place(number, next) {
                Some(place) => next = self.field(place, wire, bytes, sink, context)?,
                None => bytes.skip(number, wire)?,
            }
        }
        let Level { slots, seen, repeated, .. } = self;
        seen.each_missing_or_in(repeated, slots.len(), |place, is_present| slots[place].end(is_present, sink, context))?;
        self.absent.iter().try_for_each(|number| sink.null(*number))
    }

    /// Reads a value of any field. Returns the place where the next field is looked for first.
    #[inline]
    fn field<S: Sink>(&mut self, place: usize, wire: u32, bytes: &mut Bytes, sink: &mut S, context: &Context) -> Parsed<usize> {
        let slot = &mut self.slots[place];
        if let Some(oneof) = slot.oneof {
            if std::mem::replace(&mut self.oneofs[oneof], self.message) == self.message {
                return Err(Doubt);
            }
        }
        let first = self.seen.insert(place);
        if first {
            slot.count = 0;
            slot.columns.iter_mut().for_each(|(_, value)| value.begin());
        }
        if slot.columns.is_empty() && slot.inner.is_none() {
            skip(&context.shapes, (slot.number, slot.repeated(), slot.shape), wire, bytes)?;
        } else if first || slot.repeated() {
            slot.read(wire, bytes, sink, context)?;
        } else {
            return Err(Doubt);
        }
        Ok(if slot.repeated() { place } else { place + 1 })
    }

    /// Returns the place of the slot with this number, looking first from `from` on: writers' fields nearly always ascend.
    #[inline(always)]
    fn place(&self, number: u32, from: usize) -> Option<usize> {
        match self.slots.get(from) {
            Some(slot) if slot.number <= number => {
                let place = from + self.slots[from..].iter().position(|slot| slot.number >= number)?;
                (self.slots[place].number == number).then_some(place)
            }
            _ => self.slots.binary_search_by_key(&number, |slot| slot.number).ok(),
        }
    }
}

impl Value {
    /// Returns the step of a value that is read in one step.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Value::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Forgets what a message in doubt has left behind.
    #[inline(always)]
    fn begin(&mut self) {
        if let Value::Json(json) = self {
            json.begin();
        }
    }

    /// Reads a value and appends it to the column. After `Doubt` the column may end with a part of it.
    #[inline(always)]
    pub fn read(&mut self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Value::Scalar(scalar) => scalar.read(bytes, column, context),
            other => other.any(bytes, column, context),
        }
    }

    #[inline(never)]
    fn any(&mut self, bytes: &mut Bytes, column: &mut Column, context: &Context) -> Parsed<()> {
        match self {
            Value::Scalar(scalar) => scalar.read(bytes, column, context)?,
            Value::Leaf(leaf) => leaf.read(bytes, column, context)?,
            Value::Json(json) => {
                let Column::Text(column) = column else { return Err(Doubt) };
                json.read(&context.forms, bytes, column)?;
            }
            Value::Wrapped(value, wire, default) => {
                let mut inner = bytes.inner()?;
                let [value_at] = places(&mut inner, [*wire], true)?;
                match value_at {
                    Some(at) => {
                        inner.at = at;
                        value.read(&mut inner, column, context)?;
                    }
                    None => value.read(&mut Bytes::new(default, 0), column, context)?,
                }
            }
            Value::Row(level, group) => {
                let Column::Struct(column) = column else { return Err(Doubt) };
                if *group == 0 {
                    level.read(&mut bytes.inner()?, 0, &mut column.fields, context)?;
                } else {
                    bytes.open()?;
                    level.read(bytes, *group, &mut column.fields, context)?;
                    bytes.close();
                }
                column.close();
            }
            Value::Entry(key, value, wire, default) => {
                let Column::Map(map) = column else { return Err(Doubt) };
                let mut inner = bytes.inner()?;
                let key_wire = key.map_or(LENGTH, Kind::wire);
                let [key_at, value_at] = places(&mut inner, [key_wire, *wire], false)?;
                match key {
                    None => match key_at {
                        Some(at) => {
                            inner.at = at;
                            map.keys.push(inner.text()?);
                        }
                        None => map.keys.push(b""),
                    },
                    Some(kind) => {
                        let number = match key_at {
                            Some(at) => {
                                inner.at = at;
                                kind.read(&mut inner)?
                            }
                            None => 0,
                        };
                        map.keys.push_within_reach(key_text(*kind, number).as_bytes())?;
                    }
                }
                match value_at {
                    Some(at) => {
                        inner.at = at;
                        value.read(&mut inner, &mut map.item, context)?;
                    }
                    None => value.read(&mut Bytes::new(default, 0), &mut map.item, context)?,
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn key_text(kind: Kind, number: i64) -> String {
    match kind {
        Kind::Bool => (number == 1).to_string(),
        kind if kind.unsigned_64() => (number as u64).to_string(),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::Fixed;
    use crate::protobuf::bytes::VARINT;
    use crate::rows::Batches;

    /// More than a word of bits; tags of one, two and three bytes.
    const NUMBERS: [u32; 5] = [1, 15, 16, 2047, 2048];
    const MANY: u32 = 100;

    fn numbers() -> Vec<u32> {
        let mut numbers: Vec<u32> = (NUMBERS.into_iter()).chain(100..100 + MANY).collect();
        numbers.sort_unstable();
        numbers
    }

    fn field(number: u32) -> Vec<u8> {
        let (mut tag, mut bytes) = (number << 3 | VARINT, vec![]);
        while tag >= 0x80 {
            bytes.push(tag as u8 | 0x80);
            tag >>= 7;
        }
        bytes.extend([tag as u8, (number % 100) as u8]);
        bytes
    }

    /// Reads a message that has these fields, in this order. Returns its row; None if it is in doubt.
    fn row(label: Label, fields: &[u32]) -> Option<Vec<Option<i64>>> {
        let slot = |(column, number): (usize, u32)| {
            let value = Value::Scalar(Scalar::Whole(Kind::Int64));
            Slot::new((number, VARINT, label), vec![7], None, 0, vec![(column, value)], None)
        };
        let numbers = numbers();
        let level = Level::new(numbers.iter().copied().enumerate().map(slot).collect(), vec![]);
        let columns = numbers.iter().map(|_| Column::Int64(Fixed::default())).collect();
        let context = Context { shapes: vec![], forms: vec![], utc: true };
        let mut decoder = crate::protobuf::decoder::Decoder::new(columns, level, vec![], context, 0);
        let message = fields.iter().flat_map(|number| field(*number)).collect::<Vec<_>>();
        // the message twice, so that what the first one leaves behind would show
        let offsets = [0, message.len() as i32, 2 * message.len() as i32];
        if decoder.read(&offsets, &message.repeat(2)) != [1, 1] {
            return None;
        }
        let cell = |column: &Column| match column {
            Column::Int64(values) => values.last(),
            _ => None,
        };
        Some(decoder.rows().columns.iter().map(cell).collect())
    }

    #[test]
    fn each_field_fills_its_column_in_any_order_and_once() {
        let all = numbers();
        let full: Vec<Option<i64>> = all.iter().map(|number| Some(i64::from(number % 100))).collect();
        let backwards: Vec<u32> = all.iter().rev().copied().collect();
        for label in [Label::Optional, Label::Required, Label::Implicit] {
            assert_eq!(row(label, &all), Some(full.clone()));
            assert_eq!(row(label, &backwards), Some(full.clone()));
            assert_eq!(row(label, &[&all[1..2], &all[..]].concat()), None); // the field that is looked for first
            for again in [all[0], all[1], all[70], all[all.len() - 1]] {
                assert_eq!(row(label, &[&all[..], &[again]].concat()), None, "{again}");
            }
        }
    }

    #[test]
    fn an_absent_field_is_null_or_its_default_or_in_doubt() {
        let all = numbers();
        for missing in [0, 1, 3, 63, 64, all.len() - 1] {
            let mut fields = all.clone();
            fields.remove(missing);
            assert_eq!(row(Label::Optional, &fields).unwrap()[missing], None);
            assert_eq!(row(Label::Implicit, &fields).unwrap()[missing], Some(7));
            assert_eq!(row(Label::Required, &fields), None);
        }
    }
}
