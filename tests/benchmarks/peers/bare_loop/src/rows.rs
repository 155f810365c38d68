//! JSON objects into columns, in one pass over their bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::Deserialize;

use crate::Outcome;

/// Rows that are decoded before they are written: few enough to stay in the processor's cache.
const ROWS: usize = 8192;

/// What the benchmark writes about the records; other keys do not matter here.
#[derive(Deserialize)]
pub struct Shape {
    pub columns: BTreeMap<String, String>,
    pub time: String,
    pub every: Every,
    pub encoding: String,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    Month,
    Hour,
}

/// A column of the rows that were decoded last, by its type in Hive.
enum Column {
    Number(Int64Builder),
    Double(Float64Builder),
    Text(StringBuilder),
    Time(TimestampMicrosecondBuilder),
}

impl Column {
    fn new(hive_type: &str) -> Outcome<Self> {
        match hive_type {
            "bigint" => Ok(Column::Number(Int64Builder::with_capacity(ROWS))),
            "double" => Ok(Column::Double(Float64Builder::with_capacity(ROWS))),
            "string" => Ok(Column::Text(StringBuilder::with_capacity(ROWS, 16 * ROWS))),
            "timestamp" => Ok(Column::Time(TimestampMicrosecondBuilder::with_capacity(ROWS))),
            other => Err(format!("the bare loop reads no column of type {other}")),
        }
    }

    fn arrow_type(&self) -> DataType {
        match self {
            Column::Number(_) => DataType::Int64,
            Column::Double(_) => DataType::Float64,
            Column::Text(_) => DataType::Utf8,
            Column::Time(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    fn append_null(&mut self) {
        match self {
            Column::Number(values) => values.append_null(),
            Column::Double(values) => values.append_null(),
            Column::Text(values) => values.append_null(),
            Column::Time(values) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Number(values) => Arc::new(values.finish()),
            Column::Double(values) => Arc::new(values.finish()),
            Column::Text(values) => Arc::new(values.finish()),
            Column::Time(values) => Arc::new(values.finish()),
        }
    }
}

pub struct Decoder {
    names: Vec<String>,
    columns: Vec<Column>,
    /// The column whose key came after that of each column in an earlier record; the last element: which key came first
    after: Vec<usize>,
    /// The columns that the record has, a bit each
    present: u64,
    rows: usize,
    schema: SchemaRef,
}

impl Decoder {
    pub fn new(shape: &Shape) -> Outcome<Self> {
        if shape.encoding != "json" || shape.columns.len() > 64 {
            return Err("the bare loop reads JSON of at most 64 columns".into());
        }
        let columns = shape.columns.values().map(|kind| Column::new(kind)).collect::<Outcome<Vec<_>>>()?;
        let fields = shape.columns.keys().zip(&columns).map(|(name, column)| Field::new(name, column.arrow_type(), true));
        Ok(Decoder {
            names: shape.columns.keys().cloned().collect(),
            after: vec![0; columns.len() + 1],
            present: 0,
            rows: 0,
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns,
        })
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Append one record to the columns; return true if it is time to take the rows.
    pub fn decode(&mut self, value: &[u8]) -> Outcome<bool> {
        self.present = 0;
        let mut json = sonic_rs::Deserializer::from_slice(value);
        (&mut json).deserialize_map(Members(self)).and_then(|()| json.end()).map_err(|error| error.to_string())?;
        if self.present.count_ones() as usize != self.columns.len() {
            for (number, column) in self.columns.iter_mut().enumerate() {
                if self.present & 1 << number == 0 {
                    column.append_null();
                }
            }
        }
        self.rows += 1;
        Ok(self.rows == ROWS)
    }

    /// Take the rows out of the columns.
    pub fn take(&mut self) -> Outcome<RecordBatch> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new(self.schema(), columns).map_err(|error| error.to_string())
    }

    fn column(&mut self, before: usize, key: &str) -> Option<usize> {
        let guess = self.after[before];
        if self.names[guess] == key {
            return Some(guess);
        }
        let found = self.names.iter().position(|name| name == key)?;
        self.after[before] = found;
        Some(found)
    }
}

struct Members<'a>(&'a mut Decoder);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        let Members(decoder) = self;
        let mut before = decoder.columns.len();
        while let Some(column) = members.next_key_seed(Key { decoder, before })? {
            let Some(column) = column else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            if decoder.present & 1 << column != 0 {
                return Err(M::Error::custom("a key comes twice"));
            }
            decoder.present |= 1 << column;
            members.next_value_seed(Value(&mut decoder.columns[column]))?;
            before = column;
        }
        Ok(())
    }
}

struct Key<'a> {
    decoder: &'a mut Decoder,
    before: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.decoder.column(self.before, key))
    }
}

/// Appends a value to its column.
struct Value<'a>(&'a mut Column);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl Visitor<'_> for Value<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a value of the column's type")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        match self.0 {
            Column::Number(values) => values.append_value(number),
            Column::Double(values) => values.append_value(number as f64),
            _ => return Err(E::invalid_type(Unexpected::Signed(number), &self)),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        match self.0 {
            Column::Double(values) => values.append_value(number),
            _ => return Err(E::invalid_type(Unexpected::Float(number), &self)),
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match self.0 {
            Column::Text(values) => values.append_value(text),
            Column::Time(values) => match micros(text.as_bytes()) {
                Some(time) => values.append_value(time),
                None => return Err(E::custom(format!("no time: {text}"))),
            },
            _ => return Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.append_null();
        Ok(())
    }
}

/// Microseconds since 1970 of `2013-01-01T10:00:00Z`, the form that all data sets have.
fn micros(text: &[u8]) -> Option<i64> {
    let [b0, b1, b2, b3, b'-', b4, b5, b'-', b6, b7, b'T', b8, b9, b':', b10, b11, b':', b12, b13, b'Z'] = text else {
        return None;
    };
    let number =
        |digits: &[u8]| digits.iter().try_fold(0, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i64::from(digit - b'0')));
    let (year, month, day) = (number(&[*b0, *b1, *b2, *b3])?, number(&[*b4, *b5])?, number(&[*b6, *b7])?);
    let (hour, minute, second) = (number(&[*b8, *b9])?, number(&[*b10, *b11])?, number(&[*b12, *b13])?);
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000)
}

/// Days from 1970 to a date of the Gregorian calendar; years count from March here.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970.
pub fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
