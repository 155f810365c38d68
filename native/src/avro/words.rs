//! Read a plan from the tuples that Python passes. Each begins with the name of its step (plan.py).
//!
//! A number that leads beyond the columns or the shapes is an error here, or Doubt for the message; it never panics.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::avro::decoder::{Target, Way};
use crate::avro::shapes::Shape;
use crate::avro::texts::Form;
use crate::avro::values::Value;
use crate::spelling::quote;

type Any<'py> = Bound<'py, PyAny>;

type Words<'py> = (String, Any<'py>, Vec<(String, Vec<usize>)>, Vec<FormWords>, Vec<(usize, Any<'py>)>);
type FormWords = (String, Vec<i64>, Vec<String>);

/// What Python passes for a writer's schema.
pub struct Plan {
    /// Leads to the columns' values
    pub root: Way,
    /// The columns that take the whole message, and how
    pub whole: Vec<(usize, Value)>,
    /// Of types that are skipped
    pub shapes: Vec<Shape>,
    /// Of types that become JSON texts
    pub forms: Vec<Form>,
}

/// Returns the plan. `columns`: how many the table has.
pub fn plan(words: &Any, columns: usize) -> PyResult<Plan> {
    let (_, root, table, forms, whole): Words = words.extract()?;
    let shapes = table.iter().map(|(kind, numbers)| shape(kind, numbers, table.len())).collect::<PyResult<Vec<_>>>()?;
    let root = way(&root, columns, shapes.len())?;
    let whole = whole.iter().map(|(number, taken)| Ok((*number, value(taken)?))).collect::<PyResult<_>>()?;
    Ok(Plan { root, whole, shapes, forms: forms.iter().map(form).collect::<PyResult<_>>()? })
}

fn form((kind, numbers, names): &FormWords) -> PyResult<Form> {
    let number = |at: usize| numbers.get(at).copied().ok_or_else(|| wrong(kind));
    let place = |at: usize| usize::try_from(number(at)?).map_err(|_| wrong(kind));
    let size = |at: usize| Ok::<_, PyErr>(usize::try_from(number(at)?).ok());
    let quoted = |name: &String| {
        let mut text = vec![];
        quote(name.as_bytes(), &mut text);
        text.into_boxed_slice()
    };
    let places = || (0..numbers.len()).map(place).collect::<PyResult<Vec<usize>>>();
    Ok(match kind.as_str() {
        "null" => Form::Null,
        "boolean" => Form::Boolean,
        "int" => Form::Int,
        "long" => Form::Long,
        "float" => Form::Float,
        "double" => Form::Double,
        "string" => Form::Text,
        "bytes" => Form::Octets(size(0)?),
        "uuid" => Form::Uuid,
        "enum" => Form::Symbol(names.iter().map(quoted).collect()),
        "decimal" => Form::Decimal(size(0)?, u32::try_from(number(1)?).map_err(|_| wrong(kind))?),
        "date" => Form::Day,
        "time" => Form::Clock(number(0)? == 32, number(1)?),
        "timestamp" => Form::Moment(number(0)?, number(1)? == 1),
        "array" => Form::Array(place(0)?),
        "map" => Form::Map(place(0)?),
        "union" => Form::Union(places()?),
        "record" => Form::Record(names.iter().map(quoted).zip(places()?).collect()),
        other => return Err(wrong(other)),
    })
}

fn shape(kind: &str, numbers: &[usize], all: usize) -> PyResult<Shape> {
    let first = || numbers.first().copied().ok_or_else(|| wrong(kind));
    let shape = match kind {
        "null" => Shape::Null,
        "boolean" => Shape::Boolean,
        "int" => Shape::Int,
        "long" => Shape::Long,
        "float" => Shape::Sized(4),
        "double" => Shape::Sized(8),
        "bytes" => Shape::Octets,
        "string" => Shape::Text,
        "fixed" => return Ok(Shape::Sized(first()?)),
        "enum" => return Ok(Shape::Enum(first()?)),
        "array" => Shape::Array(first()?),
        "map" => Shape::Map(first()?),
        "union" => Shape::Union(numbers.to_vec()),
        "record" => Shape::Record(numbers.to_vec()),
        _ => return Err(wrong(kind)),
    };
    if numbers.iter().any(|number| *number >= all) {
        return Err(wrong(kind));
    }
    Ok(shape)
}

fn wrong(what: &str) -> PyErr {
    PyValueError::new_err(format!("no plan: {what}"))
}

fn name<'py>(words: &Any<'py>) -> PyResult<(String, Bound<'py, PyTuple>)> {
    let parts = words.cast::<PyTuple>()?.clone();
    Ok((parts.get_item(0)?.extract()?, parts))
}

fn way(words: &Any, columns: usize, shapes: usize) -> PyResult<Way> {
    let (name, parts) = name(words)?;
    let inner = || -> PyResult<Vec<Any>> { parts.get_item(1)?.extract() };
    Ok(match name.as_str() {
        "Level" => Way::Level(inner()?.iter().map(|one| target(one, columns, shapes)).collect::<PyResult<_>>()?),
        "Fork" => Way::Fork(inner()?.iter().map(|one| way(one, columns, shapes)).collect::<PyResult<_>>()?),
        "Null" => Way::Null,
        "Unfit" => Way::Unfit,
        other => return Err(wrong(other)),
    })
}

fn target(words: &Any, all: usize, shapes: usize) -> PyResult<Target> {
    let (_, _, shape, columns, inner): (String, String, usize, Vec<(usize, Any)>, Option<Any>) = words.extract()?;
    if shape >= shapes || columns.iter().any(|(number, _)| *number >= all) {
        return Err(wrong("a target"));
    }
    let columns = columns.iter().map(|(number, taken)| Ok((*number, value(taken)?))).collect::<PyResult<_>>()?;
    Ok(Target { shape, columns, inner: inner.map(|inner| way(&inner, all, shapes)).transpose()? })
}

fn value(words: &Any) -> PyResult<Value> {
    let (name, parts) = name(words)?;
    let at = |place: usize| parts.get_item(place);
    let boxed = || -> PyResult<Box<Value>> { Ok(Box::new(value(&at(1)?)?)) };
    Ok(match name.as_str() {
        "Null" => Value::Null,
        "Boolean" => Value::Boolean,
        "Whole" if at(1)?.extract::<u32>()? == 32 => Value::Int,
        "Whole" => Value::Long,
        "Moment" => {
            let (_, bits, factor, divisor, instant): (String, u32, i64, i64, bool) = words.extract()?;
            if factor < 1 || divisor < 1 {
                return Err(wrong("a unit"));
            }
            Value::Moment { int: bits == 32, factor, divisor, instant }
        }
        "Day" => Value::Day,
        "Real" if at(1)?.extract::<u32>()? == 32 => Value::Float,
        "Real" => Value::Double,
        "Text" => Value::Text,
        "Octets" => Value::Octets(at(1)?.extract()?),
        "Unscaled" => Value::Unscaled(at(1)?.extract()?, at(2)?.extract()?),
        "Uuid" => Value::Uuid,
        "Symbol" => Value::Symbol(at(1)?.extract::<Vec<String>>()?.into_iter().map(|text| text.into_bytes().into()).collect()),
        "Elements" => Value::Elements(boxed()?),
        "Entries" => Value::Entries(boxed()?),
        "Row" => {
            let steps: Vec<(String, isize, Any, String)> = at(1)?.extract()?;
            let steps = steps.iter().map(|(_, to, inner, _)| Ok((usize::try_from(*to).ok(), value(inner)?)));
            Value::Row { steps: steps.collect::<PyResult<_>>()?, absent: at(2)?.extract()? }
        }
        "Choice" => choice(at(1)?.extract::<Vec<Any>>()?.iter().map(value).collect::<PyResult<_>>()?),
        "Unfit" => Value::Unfit,
        "Json" => Value::Json(at(1)?.extract()?, at(2)?.extract()?),
        "Raw" => Value::Raw(at(1)?.extract()?),
        "Skip" => Value::Skip(at(1)?.extract()?),
        other => return Err(wrong(other)),
    })
}

fn choice(mut branches: Vec<Value>) -> Value {
    match branches.iter().position(|branch| matches!(branch, Value::Null)) {
        Some(null) if branches.len() == 2 => Value::Maybe { null, value: Box::new(branches.swap_remove(1 - null)) },
        _ => Value::Choice(branches),
    }
}
