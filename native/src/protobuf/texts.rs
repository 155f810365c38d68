//! Protobuf values as JSON texts; kafka2hive/decode/protobuf/texts.py writes the same.
//!
//! Only messages whose fields ascend are taken, and whose single fields occur once: their texts are written in one pass.

use crate::arrays::Texts;
use crate::cursor::{Doubt, Parsed};
use crate::numbers::unscaled;
use crate::protobuf::bytes::{Bytes, END, LENGTH, START, VARINT};
use crate::protobuf::integers::Kind;
use crate::protobuf::level::{key_text, Label};
use crate::protobuf::shapes::packable;
use crate::protobuf::values::{numbers, places, BILLION, MOST_SECONDS};
use crate::spelling::{self, Members};

/// Limit of a decimal's scale.
const LARGEST_SCALE: u32 = 1000;

/// How a message is spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As an object of its fields
    Object,
    /// As the value of its only field
    Single,
    /// As the value of the one member that it has
    Choice,
    /// google.protobuf.Timestamp
    Timestamp,
    /// google.protobuf.Duration
    Duration,
    /// confluent.type.Decimal
    Decimal,
}

/// A type and how it is spelled. Types within it are numbers in a table of forms.
pub enum Form {
    /// A whole number
    Integer(Kind),
    /// bool
    Boolean,
    /// float
    Float,
    /// double
    Double,
    /// string
    Text,
    /// bytes as base64
    Octets,
    /// An enum that stands for null
    Null,
    /// enum: its numbers, ascending, with their names in quotes
    Symbol(Vec<(i64, Box<[u8]>)>),
    /// message or group, with its fields in ascending order of their numbers
    Message(Style, Vec<Field>),
}

/// A field of a message that is spelled.
pub struct Field {
    /// Number in the schema
    pub number: u32,
    /// Wire type of one value
    pub wire: u32,
    /// How often it may occur
    pub label: Label,
    /// Number of the oneof that it is a member of
    pub oneof: Option<usize>,
    /// The value of an absent field, as the bytes after a tag
    pub default: Vec<u8>,
    /// Its name in quotes
    pub name: Box<[u8]>,
    /// Number of its form, for a map that of its entries
    pub form: usize,
}

impl Field {
    /// Returns the number that ends the group which a value is; 0 if it is none.
    fn group(&self) -> u32 {
        if self.wire == START {
            self.number
        } else {
            0
        }
    }

    fn repeated(&self) -> bool {
        matches!(self.label, Label::Repeated | Label::Map)
    }

    fn bracket(&self, close: bool) -> u8 {
        match (self.label, close) {
            (Label::Map, false) => b'{',
            (Label::Map, true) => b'}',
            (_, false) => b'[',
            (_, true) => b']',
        }
    }
}

/// A field that becomes a column of texts, and the state of the message that is being read.
pub struct Json {
    field: Field,
    sorted: bool,
    /// The text of a repeated field that is not complete yet
    open: Option<Open>,
}

/// A repeated field that is being written: whether its first value is still to come, and a map's entries.
struct Open {
    first: bool,
    entries: Members,
}

impl Open {
    fn new(field: &Field, out: &mut Vec<u8>) -> Self {
        out.push(field.bracket(false));
        Open { first: true, entries: Members::default() }
    }

    fn comma(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.first) {
            out.push(b',');
        }
    }

    fn close(self, field: &Field, sorted: bool, out: &mut Vec<u8>) -> Parsed<()> {
        self.entries.distinct(out)?;
        if sorted {
            self.entries.sort(out)?;
        }
        out.push(field.bracket(true));
        Ok(())
    }
}

impl Json {
    /// `sorted`: whether keys are sorted.
    pub fn new(field: Field, sorted: bool) -> Self {
        Json { field, sorted, open: None }
    }

    /// Forgets what a message in doubt has left behind.
    pub fn begin(&mut self) {
        self.open = None;
    }

    /// Reads the only value of a field into a column.
    pub fn read(&self, forms: &[Form], bytes: &mut Bytes, column: &mut Texts) -> Parsed<()> {
        let writer = Writer { forms, sorted: self.sorted };
        column.push_json(|out| writer.value(self.field.form, self.field.group(), bytes, out))
    }

    /// Reads a message up to its end into a column.
    pub fn read_whole(&self, forms: &[Form], bytes: &mut Bytes, column: &mut Texts) -> Parsed<()> {
        let writer = Writer { forms, sorted: self.sorted };
        let Some(Form::Message(style, fields)) = forms.get(self.field.form) else { return Err(Doubt) };
        column.push_json(|out| writer.message(*style, fields, 0, bytes, out))
    }

    /// Reads one value of a repeated field, or a packed part, into a text that is not complete yet.
    pub fn read_more(&mut self, forms: &[Form], wire: u32, bytes: &mut Bytes, column: &mut Texts) -> Parsed<()> {
        let Json { field, sorted, open } = self;
        let out = column.unfinished();
        let open = open.get_or_insert_with(|| Open::new(field, out));
        Writer { forms, sorted: *sorted }.more(field, wire, open, bytes, out)
    }

    /// Completes the text of a repeated field.
    pub fn close(&mut self, column: &mut Texts) -> Parsed<()> {
        let Json { field, sorted, open } = self;
        let open = open.take();
        column.push_written(|out| open.unwrap_or_else(|| Open::new(field, out)).close(field, *sorted, out))
    }
}

struct Writer<'f> {
    forms: &'f [Form],
    sorted: bool,
}

impl Writer<'_> {
    /// Writes the value that follows a tag. `group`: the number that ends it if it is a group, otherwise 0.
    fn value(&self, form: usize, group: u32, bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
        match self.forms.get(form).ok_or(Doubt)? {
            Form::Integer(kind) => {
                let value = kind.read(bytes)?;
                let value = if kind.unsigned_64() { i128::from(value as u64) } else { i128::from(value) };
                spelling::whole(value, out);
            }
            Form::Boolean => out.extend_from_slice(if Kind::Bool.read(bytes)? == 1 { b"true" } else { b"false" }),
            Form::Float => spelling::float(f32::from_le_bytes(bytes.exactly()?), out),
            Form::Double => spelling::double(f64::from_le_bytes(bytes.exactly()?), out),
            Form::Text => spelling::quote(bytes.text()?, out),
            Form::Octets => spelling::octets(bytes.octets()?, out),
            Form::Null => {
                Kind::Int32.read(bytes)?;
                out.extend_from_slice(b"null");
            }
            Form::Symbol(names) => {
                let value = Kind::Int32.read(bytes)?;
                match names.binary_search_by_key(&value, |one| one.0) {
                    Ok(place) => out.extend_from_slice(&names[place].1),
                    Err(_) => spelling::whole(i128::from(value), out),
                }
            }
            Form::Message(Style::Timestamp, _) => {
                let [seconds, nanos] = numbers(bytes, [Kind::Int64, Kind::Int32])?;
                if !(0..BILLION).contains(&nanos) {
                    return Err(Doubt);
                }
                spelling::moment(i128::from(seconds) * i128::from(BILLION) + i128::from(nanos), true, out)?;
            }
            Form::Message(Style::Duration, _) => duration(bytes, out)?,
            Form::Message(Style::Decimal, _) => decimal(bytes, out)?,
            Form::Message(style, fields) if group == 0 => self.message(*style, fields, 0, &mut bytes.inner()?, out)?,
            Form::Message(style, fields) => {
                bytes.open()?;
                self.message(*style, fields, group, bytes, out)?;
                bytes.close();
            }
        }
        Ok(())
    }

    /// Writes all fields: up to the end of `bytes`, or past the end of the group with this number (0: a message).
    fn message(&self, style: Style, fields: &[Field], group: u32, bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
        let is_object = style == Style::Object;
        if is_object {
            out.push(b'{');
        }
        let mut object = Object { is_object, start: out.len(), members: Members::default(), sorted: self.sorted };
        let (mut next, mut oneofs, mut open) = (0, 0_u64, None);
        loop {
            let tag = if group == 0 && bytes.at_end() { None } else { Some(bytes.tag()?) };
            let tag = tag.filter(|(number, wire)| *wire != END || *number != group);
            let place = match tag {
                Some((number, wire)) => match fields.binary_search_by_key(&number, |field| field.number) {
                    Ok(place) => place,
                    Err(_) => {
                        bytes.skip(number, wire)?;
                        continue;
                    }
                },
                None => fields.len(),
            };
            if place < next {
                return Err(Doubt);
            }
            while next < place {
                self.complete(&fields[next], open.take(), &mut object, out)?;
                next += 1;
            }
            let Some((_, wire)) = tag else { break };
            let field = &fields[place];
            if field.repeated() {
                let (_, one) = open.get_or_insert_with(|| (object.begin(field, out), Open::new(field, out)));
                self.more(field, wire, one, bytes, out)?;
                continue;
            }
            if let Some(oneof) = field.oneof {
                let bit = 1_u64.checked_shl(oneof as u32).ok_or(Doubt)?;
                if oneofs & bit != 0 {
                    return Err(Doubt);
                }
                oneofs |= bit;
            }
            if wire != field.wire {
                return Err(Doubt);
            }
            let start = object.begin(field, out);
            self.value(field.form, field.group(), bytes, out)?;
            object.end(start, field, out);
            next += 1;
        }
        object.close(out)
    }

    /// Writes the end of a repeated field that is open, or a field that is absent.
    fn complete(&self, field: &Field, open: Option<(usize, Open)>, object: &mut Object, out: &mut Vec<u8>) -> Parsed<()> {
        let start = match (open, field.label) {
            (Some((start, open)), _) => {
                open.close(field, self.sorted, out)?;
                start
            }
            (None, Label::Optional) => return Ok(()),
            (None, Label::Required) => return Err(Doubt),
            (None, Label::Implicit) => {
                let start = object.begin(field, out);
                self.value(field.form, 0, &mut Bytes::new(&field.default, 0), out)?;
                start
            }
            (None, Label::Repeated | Label::Map) => {
                let start = object.begin(field, out);
                out.extend_from_slice(&[field.bracket(false), field.bracket(true)]);
                start
            }
        };
        object.end(start, field, out);
        Ok(())
    }

    /// Writes one more value of a repeated field, or a packed part of it.
    fn more(&self, field: &Field, wire: u32, open: &mut Open, bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
        if wire == field.wire {
            open.comma(out);
            if field.label == Label::Map {
                return self.entry(field, &mut open.entries, bytes, out);
            }
            return self.value(field.form, field.group(), bytes, out);
        }
        if wire != LENGTH || !packable(field.wire) {
            return Err(Doubt);
        }
        let mut part = bytes.packed()?;
        while !part.at_end() {
            open.comma(out);
            self.value(field.form, 0, &mut part, out)?;
        }
        Ok(())
    }

    fn entry(&self, field: &Field, entries: &mut Members, bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
        let Some(Form::Message(_, fields)) = self.forms.get(field.form) else { return Err(Doubt) };
        let [of_key, of_value] = &fields[..] else { return Err(Doubt) };
        let mut inner = bytes.inner()?;
        let [key_at, value_at] = places(&mut inner, [of_key.wire, of_value.wire], false)?;
        let start = out.len();
        match self.forms.get(of_key.form).ok_or(Doubt)? {
            Form::Text => match key_at {
                Some(at) => {
                    inner.at = at;
                    spelling::quote(inner.text()?, out);
                }
                None => out.extend_from_slice(b"\"\""),
            },
            form => {
                let kind = match form {
                    Form::Integer(kind) => *kind,
                    Form::Boolean => Kind::Bool,
                    _ => return Err(Doubt),
                };
                let number = match key_at {
                    Some(at) => {
                        inner.at = at;
                        kind.read(&mut inner)?
                    }
                    None => 0,
                };
                spelling::quote(key_text(kind, number).as_bytes(), out);
            }
        }
        let key = out.len();
        out.push(b':');
        match value_at {
            Some(at) => {
                inner.at = at;
                self.value(of_value.form, 0, &mut inner, out)?;
            }
            None => self.value(of_value.form, 0, &mut Bytes::new(&of_value.default, 0), out)?,
        }
        entries.add(start, key, out);
        Ok(())
    }
}

/// A message that is being written, as an object or as the value of one of its fields.
struct Object {
    is_object: bool,
    start: usize,
    members: Members,
    sorted: bool,
}

impl Object {
    /// Writes a member's name. Returns where the member begins.
    fn begin(&self, field: &Field, out: &mut Vec<u8>) -> usize {
        if !self.is_object {
            return out.len();
        }
        if out.len() > self.start {
            out.push(b',');
        }
        let start = out.len();
        out.extend_from_slice(&field.name);
        out.push(b':');
        start
    }

    fn end(&mut self, start: usize, field: &Field, out: &[u8]) {
        if self.sorted && self.is_object {
            self.members.add(start, start + field.name.len(), out);
        }
    }

    fn close(self, out: &mut Vec<u8>) -> Parsed<()> {
        self.members.sort(out)?;
        if self.is_object {
            out.push(b'}');
        } else if out.len() == self.start {
            out.extend_from_slice(b"null");
        }
        Ok(())
    }
}

fn duration(bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
    let [seconds, nanos] = numbers(bytes, [Kind::Int64, Kind::Int32])?;
    let one_sign = seconds.signum() * nanos.signum() >= 0;
    if nanos.abs() >= BILLION || !(-MOST_SECONDS..=MOST_SECONDS).contains(&seconds) || !one_sign {
        return Err(Doubt);
    }
    out.push(b'"');
    if seconds < 0 || nanos < 0 {
        out.push(b'-');
    }
    spelling::whole(i128::from(seconds.abs()), out);
    spelling::fraction(nanos.abs(), out);
    out.extend_from_slice(b"s\"");
    Ok(())
}

fn decimal(bytes: &mut Bytes, out: &mut Vec<u8>) -> Parsed<()> {
    let mut inner = bytes.inner()?;
    let [octets, precision, scale] = places(&mut inner, [LENGTH, VARINT, VARINT], true)?;
    if let Some(at) = precision {
        inner.at = at;
        Kind::Uint32.read(&mut inner)?;
    }
    let scale = match scale {
        Some(at) => {
            inner.at = at;
            u32::try_from(Kind::Int32.read(&mut inner)?).map_err(|_| Doubt)?
        }
        None => 0,
    };
    if scale > LARGEST_SCALE {
        return Err(Doubt);
    }
    inner.at = octets.ok_or(Doubt)?;
    spelling::decimal(unscaled(inner.octets()?)?, scale, out);
    Ok(())
}
