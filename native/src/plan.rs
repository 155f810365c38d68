//! What Python passes for a table: each column's type, and the tree of keys that lead to the columns' values.
//!
//! A type is a word (`bigint`; `json` is a string that takes any JSON value, `canonical` one that sorts its keys, `object` one that takes
//! the characters of an object, `object with non-finite numbers` also with NaN in it, `number` those of a number), or a tuple of a word and its parameters:
//! `("decimal", 5, 2)`, `("array", element)`, `("map", item)`, `("struct", [(key, field), ..])`, `("epoch", factor, divisor, days, instant)`,
//! `("unscaled", precision, scale, scale of the bytes)`, `("never", type)`, `("loose", type, {form: what it needs})`, `("times", arrays)`.
//! A tree is a pair: the numbers of the columns that take the value, and `[(key, tree), ..]` for its members. If case does not matter,
//! keys are in lower case.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{Fixed, Texts};
use crate::columns::{Column, List, Map, Struct};
use crate::decoder::{Node, Target};
use crate::keys::Keys;
use crate::loose::{Forms, Loose, Marks, Words};
use crate::moments::{Form, Moments};
use crate::unscaled::{Unscaled, MOST_SCALE};
use crate::written::{self, Field, Step};

/// Returns an empty column of a type.
pub fn column(plan: &Bound<'_, PyAny>, any_case: bool) -> PyResult<Column> {
    let Ok(parts) = plan.cast::<PyTuple>() else {
        return simple(&plan.extract::<String>()?);
    };
    match parts.get_item(0)?.extract::<String>()?.as_str() {
        "decimal" => {
            let (_, precision, scale): (String, u32, u32) = plan.extract()?;
            check_decimal(precision, scale)?;
            Ok(Column::Decimal(Fixed::default(), precision, scale))
        }
        "unscaled" => {
            let (_, precision, scale, from): (String, u32, u32, i32) = plan.extract()?;
            check_decimal(precision, scale)?;
            if !(-MOST_SCALE..=MOST_SCALE).contains(&from) {
                return Err(PyValueError::new_err(format!("no such scale: {from}")));
            }
            Ok(Column::Unscaled(Box::new(Unscaled::new(precision, scale, from))))
        }
        "never" => Ok(Column::Never(Box::new(column(&parts.get_item(1)?, any_case)?))),
        "loose" => {
            let (_, inner, words): (String, Bound<'_, PyAny>, Bound<'_, PyDict>) = plan.extract()?;
            Ok(Column::Loose(Box::new(Loose::new(column(&inner, any_case)?, forms(&words)?))))
        }
        "times" => Ok(Column::Times(Texts::default(), parts.get_item(1)?.extract()?)),
        "epoch" => {
            let (_, factor, divisor, days, instant): (String, i64, i64, bool, bool) = plan.extract()?;
            if factor < 1 || divisor < 1 {
                return Err(PyValueError::new_err("an epoch number's factor and divisor are positive"));
            }
            Ok(Column::Moment(Moments::new(Form::Epoch { factor, divisor, days, instant })))
        }
        "array" => Ok(Column::List(Box::new(List::new(column(&parts.get_item(1)?, any_case)?)))),
        "map" => Ok(Column::Map(Box::new(Map::new(column(&parts.get_item(1)?, any_case)?)))),
        "struct" => {
            let fields: Vec<(String, Bound<'_, PyAny>)> = parts.get_item(1)?.extract()?;
            let keys: Vec<String> = fields.iter().map(|(key, _)| key.clone()).collect();
            let fields = fields.iter().map(|(_, field)| column(field, any_case)).collect::<PyResult<_>>()?;
            Ok(Column::Struct(Box::new(Struct::new(distinct(keys, any_case)?, fields))))
        }
        other => Err(unknown(other)),
    }
}

fn forms(words: &Bound<'_, PyDict>) -> PyResult<Forms> {
    let mut forms = Forms::default();
    for (form, value) in words {
        match form.extract::<String>()?.as_str() {
            "quoted" => forms.quoted = value.extract()?,
            "empty" => forms.empty = value.extract()?,
            "whole" => forms.whole = value.extract()?,
            "booleans" => {
                let (yes, no) = value.extract()?;
                forms.booleans = Some(Words::new(yes, no));
            }
            "numbers" => {
                let (thousands, decimal): (String, char) = value.extract()?;
                let decimal = u8::try_from(decimal).map_err(|_| PyValueError::new_err("no such decimal mark"))?;
                forms.numbers = Some(Marks { thousands: thousands.into_bytes(), decimal });
            }
            "non_finite" => forms.non_finite = Some(value.extract()?),
            "beyond" => forms.beyond = Some(value.extract()?),
            other => return Err(PyValueError::new_err(format!("unknown form {other}"))),
        }
    }
    Ok(forms)
}

fn check_decimal(precision: u32, scale: u32) -> PyResult<()> {
    if !(1..=38).contains(&precision) || scale > precision {
        return Err(PyValueError::new_err(format!("no such decimal: ({precision},{scale})")));
    }
    Ok(())
}

fn simple(word: &str) -> PyResult<Column> {
    Ok(match word {
        "boolean" => Column::Boolean(Fixed::default()),
        "tinyint" => Column::Int8(Fixed::default()),
        "smallint" => Column::Int16(Fixed::default()),
        "int" => Column::Int32(Fixed::default()),
        "bigint" => Column::Int64(Fixed::default()),
        "float" => Column::Float32(Fixed::default()),
        "double" => Column::Float64(Fixed::default()),
        "string" => Column::Text(Texts::default()),
        "json" => Column::Json(Texts::default()),
        "object" => Column::Object(Texts::default(), false),
        "object with non-finite numbers" => Column::Object(Texts::default(), true),
        "canonical" => Column::Canonical(Box::default()),
        "number" => Column::Number(Texts::default()),
        "binary" => Column::Binary(Texts::default()),
        "date" => Column::Date(Fixed::default()),
        "timestamp" => Column::Moment(Moments::new(Form::Text)),
        other => return Err(unknown(other)),
    })
}

/// Returns a form of times: `("iso",)`, `("array",)`, `("number", factor, divisor)`, or `("steps", pivot, [(kind, least, most, text), ..])`.
pub fn time_form(plan: &Bound<'_, PyAny>) -> PyResult<written::Form> {
    let parts = plan.cast::<PyTuple>()?;
    match parts.get_item(0)?.extract::<String>()?.as_str() {
        "iso" => Ok(written::Form::Iso),
        "array" => Ok(written::Form::Array),
        "number" => {
            let (_, factor, divisor): (String, i64, i64) = plan.extract()?;
            if !(1..=1_000_000).contains(&factor) || !(1..=1_000).contains(&divisor) {
                return Err(PyValueError::new_err("a unit between nanoseconds and seconds"));
            }
            Ok(written::Form::Number { factor: factor.into(), divisor: divisor.into() })
        }
        "steps" => {
            let (_, pivot, steps): (String, i64, Vec<StepWords>) = plan.extract()?;
            let steps =
                steps.into_iter().map(|(kind, least, most, text)| step(&kind, least, most, text)).collect::<PyResult<_>>()?;
            Ok(written::Form::Steps { pivot, steps })
        }
        other => Err(unknown(other)),
    }
}

type StepWords = (String, usize, usize, String);

fn step(kind: &str, least: usize, most: usize, text: String) -> PyResult<Step> {
    let number = |field| Ok(Step::Number { field, least, most });
    match kind {
        "literal" => Ok(Step::Literal(text.into_bytes())),
        "year" => number(Field::Year),
        "short year" => number(Field::ShortYear),
        "month" => number(Field::Month),
        "day" => number(Field::Day),
        "hour" => number(Field::Hour),
        "clock hour" => number(Field::ClockHour),
        "minute" => number(Field::Minute),
        "second" => number(Field::Second),
        "fraction" => Ok(Step::Fraction { digits: most }),
        "month name" => Ok(Step::Month { size: most }),
        "weekday" => Ok(Step::Weekday { size: most }),
        "half" => Ok(Step::Half),
        "zone" => Ok(Step::Zone),
        "offset" => Ok(Step::Offset { z: text.starts_with('X'), colon: text.len() == 3, minutes: text.len() > 1 }),
        other => Err(unknown(other)),
    }
}

fn unknown(word: &str) -> PyErr {
    PyValueError::new_err(format!("unknown type {word}"))
}

/// Returns the numbers of the columns that take whole messages, by a message's tree. `columns`: how many the table has.
pub fn whole(tree: &Bound<'_, PyAny>, columns: usize) -> PyResult<Vec<usize>> {
    let (whole, _): (Vec<usize>, Bound<'_, PyAny>) = tree.extract()?;
    if whole.iter().any(|number| *number >= columns) {
        return Err(PyValueError::new_err("no such column"));
    }
    Ok(whole)
}

/// Returns the tree of a message. `columns`: how many the table has.
pub fn node(tree: &Bound<'_, PyAny>, any_case: bool, columns: usize) -> PyResult<Node> {
    let (_, inner): (Vec<usize>, Vec<(String, Bound<'_, PyAny>)>) = tree.extract()?;
    let keys = inner.iter().map(|(key, _)| key.clone()).collect();
    let targets = inner.iter().map(|(_, value)| target(value, any_case, columns)).collect::<PyResult<_>>()?;
    Ok(Node::new(distinct(keys, any_case)?, targets))
}

fn target(tree: &Bound<'_, PyAny>, any_case: bool, all: usize) -> PyResult<Target> {
    let (columns, inner): (Vec<usize>, Vec<Bound<'_, PyAny>>) = tree.extract()?;
    if columns.iter().any(|number| *number >= all) || (columns.is_empty() && inner.is_empty()) {
        return Err(PyValueError::new_err("a value that no column takes"));
    }
    if let ([number], true) = (&columns[..], inner.is_empty()) {
        return Ok(Target::Column(*number));
    }
    let inner = if inner.is_empty() { None } else { Some(node(tree, any_case, all)?) };
    Ok(Target::Several { columns, inner })
}

fn distinct(keys: Vec<String>, any_case: bool) -> PyResult<Keys> {
    let mut sorted: Vec<&String> = keys.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(PyValueError::new_err("a key that stands for two values"));
    }
    Ok(Keys::new(&keys, any_case))
}
