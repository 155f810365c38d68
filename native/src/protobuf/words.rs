//! Read a plan from the tuples that Python passes. Each begins with the name of its step (plan.py).
//!
//! A number that leads beyond the columns or the shapes is an error here, or Doubt for the message; it never panics.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::protobuf::bytes::{LENGTH, START};
use crate::protobuf::integers::Kind;
use crate::protobuf::level::{Label, Level, Slot, Value};
use crate::protobuf::shapes::{Known, Shape};
use crate::protobuf::texts::{Field, Form, Json, Style};
use crate::protobuf::values::{Leaf, Scalar};
use crate::spelling::quote;

type Any<'py> = Bound<'py, PyAny>;
type PlanWords<'py> = (String, Any<'py>, Vec<(String, Vec<Known>)>, Vec<Any<'py>>, Vec<(usize, Any<'py>)>);
type Words<'py> = (String, u32, String, String, u32, Vec<u8>, isize, usize, Vec<(usize, Any<'py>)>, Option<Any<'py>>);

/// What Python passes for a message type.
pub struct Plan {
    /// Leads to the columns' values
    pub root: Level,
    /// The columns that take the whole message, and how
    pub whole: Vec<(usize, Json)>,
    /// Of types that are skipped
    pub shapes: Vec<Shape>,
    /// Of types that become JSON texts
    pub forms: Vec<Form>,
}

/// Returns the plan. `columns`: how many the table has.
pub fn plan(words: &Any, columns: usize) -> PyResult<Plan> {
    let (_, root, table, forms, whole): PlanWords = words.extract()?;
    let all = table.len();
    let shapes = table.into_iter().map(|(kind, fields)| shape(&kind, fields, all)).collect::<PyResult<Vec<_>>>()?;
    let root = level(&root, all)?;
    if root.most_columns() > columns {
        return Err(wrong("a column"));
    }
    let whole = whole.iter().map(|(number, taken)| Ok((*number, json(taken)?))).collect::<PyResult<_>>()?;
    Ok(Plan { root, whole, shapes, forms: forms.iter().map(form).collect::<PyResult<_>>()? })
}

fn json(words: &Any) -> PyResult<Json> {
    let (_, field, sorted): (String, Any, bool) = words.extract()?;
    Ok(Json::new(json_field(&field)?, sorted))
}

fn json_field(words: &Any) -> PyResult<Field> {
    let (_, slot, form): (String, Any, usize) = words.extract()?;
    let (_, number, name, label, wire, default, oneof, _, _, _): Words = slot.extract()?;
    Ok(Field {
        number,
        wire,
        label: label_of(&label)?,
        oneof: usize::try_from(oneof).ok(),
        default: behind_length(wire, default),
        name: quoted(&name),
        form,
    })
}

fn quoted(name: &str) -> Box<[u8]> {
    let mut text = vec![];
    quote(name.as_bytes(), &mut text);
    text.into_boxed_slice()
}

fn form(words: &Any) -> PyResult<Form> {
    let (_, kind, style, fields, symbols): (String, String, String, Vec<Any>, Vec<(i64, String)>) = words.extract()?;
    Ok(match kind.as_str() {
        "bool" => Form::Boolean,
        "float" => Form::Float,
        "double" => Form::Double,
        "string" => Form::Text,
        "bytes" => Form::Octets,
        "null" => Form::Null,
        "enum" => Form::Symbol(symbols.iter().map(|(number, name)| (*number, quoted(name))).collect()),
        "message" | "group" => {
            let mut fields = fields.iter().map(json_field).collect::<PyResult<Vec<_>>>()?;
            let style = match style.as_str() {
                "object" => Style::Object,
                "any" => {
                    for (field, name) in fields.iter_mut().zip(["@type", "value"]) {
                        field.name = quoted(name);
                    }
                    Style::Object
                }
                "single" => Style::Single,
                "choice" => Style::Choice,
                "timestamp" => Style::Timestamp,
                "duration" => Style::Duration,
                "decimal" => Style::Decimal,
                other => return Err(wrong(other)),
            };
            Form::Message(style, fields)
        }
        other => Form::Integer(integer(other)?),
    })
}

fn label_of(name: &str) -> PyResult<Label> {
    Ok(match name {
        "optional" => Label::Optional,
        "required" => Label::Required,
        "implicit" => Label::Implicit,
        "repeated" => Label::Repeated,
        "map" => Label::Map,
        other => return Err(wrong(other)),
    })
}

fn shape(kind: &str, fields: Vec<Known>, all: usize) -> PyResult<Shape> {
    if fields.iter().any(|field| field.2 >= all) || fields.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return Err(wrong(kind));
    }
    Ok(match kind {
        "float" => Shape::Float,
        "double" => Shape::Double,
        "bytes" => Shape::Octets,
        "string" => Shape::Text,
        "message" => Shape::Message(fields),
        "group" => Shape::Group(fields),
        other => Shape::Integer(integer(other)?),
    })
}

fn integer(kind: &str) -> PyResult<Kind> {
    Kind::named(kind).ok_or_else(|| wrong(kind))
}

fn wrong(what: &str) -> PyErr {
    PyValueError::new_err(format!("no plan: {what}"))
}

fn level(words: &Any, shapes: usize) -> PyResult<Level> {
    let (_, slots, absent): (String, Vec<Any>, Vec<usize>) = words.extract()?;
    let slots = slots.iter().map(|one| slot(one, shapes)).collect::<PyResult<Vec<_>>>()?;
    if slots.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err(wrong("fields that do not ascend"));
    }
    Ok(Level::new(slots, absent))
}

fn slot(words: &Any, shapes: usize) -> PyResult<Slot> {
    let parts = words.cast::<PyTuple>()?;
    if parts.len() != 10 {
        return Err(wrong("a slot"));
    }
    let (_, number, _, label, wire, default, oneof, shape, columns, inner): Words = words.extract()?;
    let label = label_of(&label)?;
    if shape >= shapes || number == 0 {
        return Err(wrong("a field"));
    }
    let group = if wire == START { number } else { 0 };
    let columns = columns.iter().map(|(to, taken)| Ok((*to, value(taken, group, shapes)?))).collect::<PyResult<_>>()?;
    let inner = inner.map(|inner| level(&inner, shapes)).transpose()?;
    Ok(Slot::new((number, wire, label), behind_length(wire, default), usize::try_from(oneof).ok(), shape, columns, inner))
}

/// Returns a default payload as it follows a tag; defaults of types with a length are empty.
fn behind_length(wire: u32, payload: Vec<u8>) -> Vec<u8> {
    if wire == LENGTH {
        vec![0]
    } else {
        payload
    }
}

fn value(words: &Any, group: u32, shapes: usize) -> PyResult<Value> {
    let parts = words.cast::<PyTuple>()?;
    let at = |place: usize| parts.get_item(place);
    let kind = |place: usize| -> PyResult<Kind> { integer(&at(place)?.extract::<String>()?) };
    Ok(match at(0)?.extract::<String>()?.as_str() {
        "Boolean" => Value::Scalar(Scalar::Boolean),
        "Whole" => match kind(1)? {
            kind if kind.unsigned_64() => Value::Leaf(Leaf::Unsigned(kind)),
            kind => Value::Scalar(Scalar::Whole(kind)),
        },
        "Moment" => {
            let (factor, divisor): (i64, i64) = (at(2)?.extract()?, at(3)?.extract()?);
            if factor < 1 || divisor < 1 {
                return Err(wrong("a unit"));
            }
            Value::Scalar(Scalar::Moment(kind(1)?, factor, divisor))
        }
        "Real" if at(1)?.extract::<u32>()? == 32 => Value::Scalar(Scalar::Float),
        "Real" => Value::Scalar(Scalar::Double),
        "Text" => Value::Scalar(Scalar::Text),
        "Octets" => Value::Leaf(Leaf::Octets),
        "Symbol" => {
            let names: Vec<(i64, String)> = at(1)?.extract()?;
            Value::Leaf(Leaf::Symbol(names.into_iter().map(|(number, name)| (number, name.into_bytes().into())).collect()))
        }
        "Ordinal" => Value::Leaf(Leaf::Ordinal(at(1)?.extract()?)),
        "Stamp" => Value::Leaf(Leaf::Stamp),
        "Span" => Value::Leaf(Leaf::Span),
        "Unscaled" => Value::Leaf(Leaf::Unscaled),
        "Day" => Value::Leaf(Leaf::Day),
        "Wrapped" => {
            let wire = at(2)?.extract()?;
            Value::Wrapped(Box::new(value(&at(1)?, 0, shapes)?), wire, behind_length(wire, at(3)?.extract()?))
        }
        "Json" => Value::Json(Box::new(json(words)?)),
        "Row" => Value::Row(Box::new(level(&at(1)?, shapes)?), group),
        "Entry" => {
            let key: String = at(1)?.extract()?;
            let key = if key == "string" { None } else { Some(integer(&key)?) };
            let wire = at(3)?.extract()?;
            Value::Entry(key, Box::new(value(&at(2)?, 0, shapes)?), wire, behind_length(wire, at(4)?.extract()?))
        }
        other => return Err(wrong(other)),
    })
}
