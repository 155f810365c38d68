//! The module that Python imports.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::array::Array;
use crate::{arrow, avro, decoder, guarded, messages, plan, protobuf, Panicked};

/// Changes whenever Python must call this module in another way.
const INTERFACE: u32 = 1;

/// Decodes batches of one table. What it remembers between them is the order of keys, for speed.
#[pyclass(module = "kafka2hive_native")]
struct Decoder {
    /// None after a panic.
    inner: Option<decoder::Decoder>,
}

#[pymethods]
impl Decoder {
    /// `types`: a type for each column; `tree`: where the values stand (plan.rs). `utc`: instants need no conversion.
    #[new]
    fn new(types: Vec<Bound<'_, PyAny>>, tree: &Bound<'_, PyAny>, any_case: bool, utc: bool) -> PyResult<Self> {
        let columns = types.iter().map(|plan| plan::column(plan, any_case)).collect::<PyResult<Vec<_>>>()?;
        let root = plan::node(tree, any_case, columns.len())?;
        Ok(Decoder { inner: Some(decoder::Decoder::new(columns, root, utc)) })
    }

    /// Reads an Arrow array of messages: a byte for each, 1 where it is a row, 0 where it is in doubt.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// The rows' instants as int64, microseconds from 1970 UTC; their wall clocks are what `rows` asks for.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(instant_bytes(guarded(&mut self.inner, |decoder| decoder.rows.instants())?, py))
    }

    /// The rows that were read last, as the capsule of an Arrow struct array whose children are the columns.
    fn rows<'py>(&mut self, py: Python<'py>, walls: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
        let walls = wall_clocks(walls)?;
        rows_capsule(guarded(&mut self.inner, |decoder| decoder.rows.take(walls))?, py)
    }
}

/// Decodes batches of Avro messages of one writer's schema into one table's columns. Nothing is remembered between them.
#[pyclass(module = "kafka2hive_native")]
struct AvroDecoder {
    /// None after a panic.
    inner: Option<avro::decoder::Decoder>,
}

#[pymethods]
impl AvroDecoder {
    /// `types`: a type for each column (plan.rs); `words`: the plan (avro/words.rs). `head`: bytes before a message's record.
    #[new]
    fn new(types: Vec<Bound<'_, PyAny>>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<Self> {
        let columns = types.iter().map(|plan| plan::column(plan, false)).collect::<PyResult<Vec<_>>>()?;
        let (root, shapes) = avro::words::plan(words, columns.len())?;
        let context = avro::values::Context { shapes, utc };
        Ok(AvroDecoder { inner: Some(avro::decoder::Decoder::new(columns, root, context, head)) })
    }

    /// As that of Decoder.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// As that of Decoder.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(instant_bytes(guarded(&mut self.inner, |decoder| decoder.rows.instants())?, py))
    }

    /// As that of Decoder.
    fn rows<'py>(&mut self, py: Python<'py>, walls: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
        let walls = wall_clocks(walls)?;
        rows_capsule(guarded(&mut self.inner, |decoder| decoder.rows.take(walls))?, py)
    }
}

/// Decodes batches of Protobuf messages of one type into one table's columns. Nothing is remembered between them.
#[pyclass(module = "kafka2hive_native")]
struct ProtobufDecoder {
    /// None after a panic.
    inner: Option<protobuf::decoder::Decoder>,
}

#[pymethods]
impl ProtobufDecoder {
    /// `types`: a type for each column (plan.rs); `words`: the plan (protobuf/words.rs). `head`: bytes before a message's fields.
    #[new]
    fn new(types: Vec<Bound<'_, PyAny>>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<Self> {
        let columns = types.iter().map(|plan| plan::column(plan, false)).collect::<PyResult<Vec<_>>>()?;
        let (root, shapes) = protobuf::words::plan(words, columns.len())?;
        let context = protobuf::values::Context { shapes, utc };
        Ok(ProtobufDecoder { inner: Some(protobuf::decoder::Decoder::new(columns, root, context, head)) })
    }

    /// As that of Decoder.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// As that of Decoder.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(instant_bytes(guarded(&mut self.inner, |decoder| decoder.rows.instants())?, py))
    }

    /// As that of Decoder.
    fn rows<'py>(&mut self, py: Python<'py>, walls: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
        let walls = wall_clocks(walls)?;
        rows_capsule(guarded(&mut self.inner, |decoder| decoder.rows.take(walls))?, py)
    }
}

fn instant_bytes(instants: Vec<i64>, py: Python<'_>) -> Bound<'_, PyBytes> {
    let bytes: Vec<u8> = instants.into_iter().flat_map(i64::to_ne_bytes).collect();
    PyBytes::new(py, &bytes)
}

fn wall_clocks(walls: &[u8]) -> PyResult<Vec<i64>> {
    let eights = walls.chunks_exact(8).map(|bytes| bytes.try_into().map(i64::from_ne_bytes));
    eights.collect::<Result<_, _>>().map_err(|_| PyValueError::new_err("walls are int64"))
}

fn rows_capsule(rows: Option<Array>, py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    arrow::capsule(rows.ok_or_else(|| PyValueError::new_err("a wall clock for each instant"))?, py)
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Values and times of Kafka's messages (messages.rs), as capsules of Arrow arrays.
#[pyfunction]
fn values_and_times<'py>(
    list: &Bound<'py, PyList>,
    value: &Bound<'py, PyAny>,
    time: &Bound<'py, PyAny>,
    bytes: usize,
) -> PyResult<Capsules<'py>> {
    let (values, times) = guarded(&mut Some(()), |()| messages::values_and_times(list, value, time, bytes))??;
    Ok((arrow::capsule(values, list.py())?, arrow::capsule(times, list.py())?))
}

impl From<Panicked> for PyErr {
    fn from(_: Panicked) -> PyErr {
        PyRuntimeError::new_err("the compiled decoder panicked")
    }
}

#[pymodule]
fn kafka2hive_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    module.add_function(wrap_pyfunction!(values_and_times, module)?)?;
    module.add_class::<AvroDecoder>()?;
    module.add_class::<ProtobufDecoder>()?;
    module.add_class::<Decoder>()
}
