//! The consumer and its records as Python sees them. No call holds the interpreter's lock while it waits or copies.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use super::librdkafka::{Client, Error, Event, Library, Place};
use super::records::{self, Builder, Delivery, Headers, Part, Records, TooLarge, Unreadable};
use super::tally::{Run, Tally};
use crate::arrow::capsule;

/// Records for which `consume` makes room at once.
const MOST_ROOM: usize = 16_384;

create_exception!(kafka2hive_native, ClientError, PyException, "librdkafka's code and text for a call that failed.");

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        ClientError::new_err((error.code, error.text))
    }
}

impl From<TooLarge> for PyErr {
    fn from(_: TooLarge) -> PyErr {
        PyValueError::new_err("a column beyond 2 GB")
    }
}

/// The librdkafka that this process uses.
#[pyclass(module = "kafka2hive_native", frozen, name = "Librdkafka")]
pub struct PyLibrary(Library);

#[pymethods]
impl PyLibrary {
    /// `path` is a loaded shared object which is librdkafka or is linked with it; `flags` are those of `dlopen`.
    #[new]
    fn new(path: &str, flags: i32) -> PyResult<Self> {
        Library::load(path, flags).map(PyLibrary).map_err(PyOSError::new_err)
    }

    /// As `rd_kafka_version`.
    #[getter]
    fn version(&self) -> i32 {
        self.0.version()
    }

    /// A consumer with these properties.
    fn consumer(&self, properties: Vec<(String, String)>) -> PyResult<PyConsumer> {
        Ok(PyConsumer { client: Mutex::new(Some(Client::new(self.0, &properties)?)), room: Mutex::default() })
    }
}

/// Topic, number, offset and code of an error (0 without one).
type PlaceWords = (String, i32, i64, i32);

fn places(words: Vec<(String, i32, i64)>) -> Vec<Place> {
    words.into_iter().map(|(topic, number, offset)| Place { topic, number, offset, code: 0 }).collect()
}

fn words(places: Vec<Place>) -> Vec<PlaceWords> {
    places.into_iter().map(|place| (place.topic, place.number, place.offset, place.code)).collect()
}

type Lines = Vec<(i32, String, String, String)>;
type Errors = Vec<(i32, String)>;
type Throttles = Vec<(String, i32)>;

/// A consumer for assigned topic partitions. After `close` each call is an error; records that it delivered stay readable.
#[pyclass(module = "kafka2hive_native", frozen, name = "Consumer")]
pub struct PyConsumer {
    client: Mutex<Option<Arc<Client>>>,
    /// The values of the last delivery, whose memory the next one takes if nobody reads it any more: new memory costs as much
    /// as the copying.
    room: Mutex<Arc<Vec<u8>>>,
}

impl PyConsumer {
    fn client(&self) -> PyResult<Arc<Client>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        client.ok_or_else(|| ClientError::new_err((-172, "Consumer closed")))
    }

    /// Leaves `values` for `take_room`, and returns those that an earlier call left.
    fn exchange_room(&self, values: Arc<Vec<u8>>) -> Arc<Vec<u8>> {
        std::mem::replace(&mut *self.room.lock().unwrap_or_else(PoisonError::into_inner), values)
    }

    /// Returns memory for the values of the next delivery, which is often as large as the last one.
    fn take_room(&self) -> Vec<u8> {
        let last = self.exchange_room(Arc::default());
        let expected = last.len() + last.len() / 8;
        let mut room = Arc::try_unwrap(last).ok().filter(|room| room.capacity() <= 4 * expected).unwrap_or_default();
        room.clear();
        room.reserve(expected);
        room
    }
}

#[pymethods]
impl PyConsumer {
    fn assign(&self, py: Python<'_>, assignments: Vec<(String, i32, i64)>) -> PyResult<()> {
        let client = self.client()?;
        Ok(py.detach(|| client.assign(&places(assignments)))?)
    }

    fn assignment(&self, py: Python<'_>) -> PyResult<Vec<PlaceWords>> {
        let client = self.client()?;
        Ok(words(py.detach(|| client.assignment())?))
    }

    fn incremental_unassign(&self, py: Python<'_>, assignments: Vec<(String, i32, i64)>) -> PyResult<()> {
        let client = self.client()?;
        Ok(py.detach(|| client.incremental_unassign(&places(assignments)))?)
    }

    fn unassign(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.client()?;
        self.exchange_room(Arc::default());
        Ok(py.detach(|| client.unassign())?)
    }

    fn position(&self, py: Python<'_>, assignments: Vec<(String, i32, i64)>) -> PyResult<Vec<PlaceWords>> {
        let client = self.client()?;
        Ok(words(py.detach(|| client.position(&places(assignments)))?))
    }

    fn offsets_for_times(&self, py: Python<'_>, times: Vec<(String, i32, i64)>, seconds: f64) -> PyResult<Vec<PlaceWords>> {
        let (client, wait) = (self.client()?, duration(seconds)?);
        Ok(words(py.detach(|| client.offsets_for_times(&places(times), wait))?))
    }

    /// At most `count` messages and events within `seconds`, and none after `bytes` of values.
    fn consume(&self, py: Python<'_>, count: usize, bytes: usize, seconds: f64) -> PyResult<PyBatch> {
        let (client, wait) = (self.client()?, duration(seconds)?);
        let (mut tally, mut builder) = (Tally::default(), Builder::new(count.min(MOST_ROOM), self.take_room()));
        let (events, delivery) = py.detach(|| -> Result<_, Error> {
            let (messages, events) = client.consume(count, bytes, wait, |messages| {
                tally.add(messages);
                builder.add(messages);
            })?;
            Ok((events, builder.finish(messages)))
        })?;
        if delivery.values().len() <= 2 * bytes {
            self.exchange_room(delivery.values());
        } else {
            delivery.free_messages(); // many large records in one C call
        }
        Ok(PyBatch { tally: tally.runs, delivery: Arc::new(delivery), events })
    }

    /// Log lines (level, facility, client, text), errors (code, text) and throttles (broker, milliseconds) since the last call.
    fn heard(&self) -> PyResult<(Lines, Errors, Throttles)> {
        let heard = self.client()?.heard();
        let lines = heard.lines.into_iter().map(|line| (line.level, line.facility, line.client, line.text)).collect();
        Ok((lines, heard.errors.into_iter().map(|error| (error.code, error.text)).collect(), heard.throttles))
    }

    /// Leaves the brokers. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(client) = self.client.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        Ok(py.detach(move || client.close())?)
    }
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Topic (None if it is about the client), number, offset, code and text.
type EventWords<'a> = (Option<&'a str>, i32, i64, i32, &'a str);

/// What one call of `consume` returned.
#[pyclass(module = "kafka2hive_native", frozen, name = "Batch")]
pub struct PyBatch {
    tally: Vec<Run>,
    delivery: Arc<Delivery>,
    events: Vec<Event>,
}

#[pymethods]
impl PyBatch {
    /// Topic, number and offsets (int64 in this machine's order) of each run of messages, as they were delivered.
    fn tally<'py>(&self, py: Python<'py>) -> Vec<(&str, i32, Bound<'py, PyBytes>)> {
        self.tally.iter().map(|run| (&*run.topic, run.number, int64_bytes(py, &run.offsets))).collect()
    }

    /// Topic, number and records of each run of messages.
    fn runs(&self) -> Vec<(String, i32, PyRecords)> {
        let runs = Records::runs(&self.delivery).into_iter();
        runs.map(|(topic, number, records)| (topic, number, PyRecords(records))).collect()
    }

    fn events(&self) -> Vec<EventWords<'_>> {
        self.events.iter().map(words_of).collect()
    }
}

fn words_of(event: &Event) -> EventWords<'_> {
    (event.topic.as_deref(), event.number, event.offset, event.error.code, &event.error.text)
}

fn int64_bytes<'py>(py: Python<'py>, numbers: &[i64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Records in order. A column is the capsule of an Arrow array; `positions` are int64, None means all.
#[pyclass(module = "kafka2hive_native", frozen, name = "Records")]
pub struct PyRecords(Records);

impl PyRecords {
    fn chosen(&self, positions: Option<&[u8]>) -> PyResult<Vec<records::Place<'_>>> {
        let Some(bytes) = positions else { return Ok(self.0.all()) };
        let numbers = bytes.chunks_exact(8).map(|eight| i64::from_ne_bytes(eight.try_into().expect("eight bytes")));
        self.0.chosen(numbers).ok_or_else(|| PyIndexError::new_err("no record at one of the positions"))
    }

    fn binary<'py>(&self, py: Python<'py>, part: Part, positions: Option<&[u8]>) -> PyResult<Bound<'py, PyCapsule>> {
        let column = if positions.is_none() { self.0.whole(part)? } else { records::binary(&self.chosen(positions)?, part)? };
        capsule(column, py)
    }
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

#[pymethods]
impl PyRecords {
    /// The records of all arguments, one after the other.
    #[staticmethod]
    fn joined(several: Vec<PyRef<'_, PyRecords>>) -> PyRecords {
        PyRecords(Records::joined(several.iter().map(|records| &records.0)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn slice(&self, start: usize, end: usize) -> PyRecords {
        PyRecords(self.0.slice(start, end))
    }

    /// The same records without the memory of others, if that is more than their own.
    fn compact(&self) -> PyRecords {
        PyRecords(self.0.compact())
    }

    /// The sum of the values' sizes.
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The size of each value (int64), 0 for a tombstone.
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        int64_bytes(py, &self.0.sizes())
    }

    /// Offset and leader epoch of the last record; -1 without one.
    fn last(&self) -> (i64, i32) {
        self.0.last().unwrap_or((-1, -1))
    }

    /// How many records come before the first whose offset is `offset` or higher.
    fn count_below(&self, offset: i64) -> usize {
        self.0.count_below(offset)
    }

    /// The values (binary, null for tombstones) and the timestamps of all.
    fn values_and_timestamps<'py>(&self, py: Python<'py>) -> PyResult<Capsules<'py>> {
        let (values, times) = py.detach(|| -> Result<_, TooLarge> { Ok((self.0.whole(Part::Value)?, self.0.timestamps())) })?;
        Ok((capsule(values, py)?, capsule(times, py)?))
    }

    #[pyo3(signature = (positions=None))]
    fn values<'py>(&self, py: Python<'py>, positions: Option<&[u8]>) -> PyResult<Bound<'py, PyCapsule>> {
        self.binary(py, Part::Value, positions)
    }

    #[pyo3(signature = (positions=None))]
    fn keys<'py>(&self, py: Python<'py>, positions: Option<&[u8]>) -> PyResult<Bound<'py, PyCapsule>> {
        self.binary(py, Part::Key, positions)
    }

    #[pyo3(signature = (positions=None))]
    fn offsets<'py>(&self, py: Python<'py>, positions: Option<&[u8]>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(records::offsets(&self.chosen(positions)?), py)
    }

    #[pyo3(signature = (positions=None))]
    fn timestamps<'py>(&self, py: Python<'py>, positions: Option<&[u8]>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(records::timestamps(&self.chosen(positions)?), py)
    }

    /// Pairs of name and value for each record, None without headers or with a name that is not UTF-8; the places of the latter.
    #[pyo3(signature = (positions=None))]
    fn headers<'py>(&self, py: Python<'py>, positions: Option<&[u8]>) -> PyResult<(Vec<Option<Pairs<'py>>>, Vec<usize>)> {
        let (mut all, mut unreadable) = (vec![], vec![]);
        for (number, place) in self.chosen(positions)?.into_iter().enumerate() {
            let headers = records::headers(place).unwrap_or_else(|Unreadable| {
                unreadable.push(number);
                None
            });
            all.push(headers.map(|headers| pairs(py, headers)));
        }
        Ok((all, unreadable))
    }
}

type Pairs<'py> = Vec<(String, Option<Bound<'py, PyBytes>>)>;

fn pairs<'py>(py: Python<'py>, headers: Headers<'_>) -> Pairs<'py> {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value.map(|bytes| PyBytes::new(py, bytes)))).collect()
}

/// Adds the classes to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ClientError", module.py().get_type::<ClientError>())?;
    module.add_class::<PyLibrary>()?;
    module.add_class::<PyConsumer>()?;
    module.add_class::<PyBatch>()?;
    module.add_class::<PyRecords>()
}
