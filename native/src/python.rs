//! The module that Python imports.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::columns::Column;
use crate::rows::Batches;
use crate::{arrow, avro, decoder, guarded, imported, messages, plan, protobuf, Panicked};

/// Changes whenever Python must call this module in another way.
const INTERFACE: u32 = 2;

/// Decodes batches of one table, in the way that the function which made it names.
#[pyclass(module = "kafka2hive_native")]
struct BatchDecoder {
    /// None after a panic.
    inner: Option<Box<dyn Batches>>,
}

#[pymethods]
impl BatchDecoder {
    /// Reads an Arrow array of messages: a byte for each, 1 where it is a row, 0 where it is in doubt.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// The rows' instants as int64, microseconds from 1970 UTC; their wall clocks are what `rows` asks for.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let instants = guarded(&mut self.inner, |decoder| decoder.rows().instants())?;
        let bytes: Vec<u8> = instants.into_iter().flat_map(i64::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Keys of messages that no column takes, from the `met`th key on; and how many keys were met by now.
    fn passed_keys(&mut self, met: usize) -> PyResult<(Vec<String>, usize)> {
        Ok(guarded(&mut self.inner, |decoder| decoder.passed_keys(met))?)
    }

    /// The rows that were read last, as the capsule of an Arrow struct array whose children are the columns.
    fn rows<'py>(&mut self, py: Python<'py>, walls: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
        let eights = walls.chunks_exact(8).map(|bytes| bytes.try_into().map(i64::from_ne_bytes));
        let walls = eights.collect::<Result<_, _>>().map_err(|_| PyValueError::new_err("walls are int64"))?;
        let rows = guarded(&mut self.inner, |decoder| decoder.rows().take(walls))?;
        arrow::capsule(rows.ok_or_else(|| PyValueError::new_err("a wall clock for each instant"))?, py)
    }
}

type Types<'py> = Vec<Bound<'py, PyAny>>;

fn columns(types: Types<'_>, any_case: bool) -> PyResult<Vec<Column>> {
    types.iter().map(|plan| plan::column(plan, any_case)).collect()
}

fn decoding(decoder: impl Batches + 'static) -> BatchDecoder {
    BatchDecoder { inner: Some(Box::new(decoder)) }
}

/// JSON. `types`: a type for each column; `tree`: where the values stand (plan.rs). `utc`: instants need no conversion.
///
/// What it remembers between batches is the order of keys, for speed.
#[pyfunction(name = "Decoder")]
fn json_decoder(types: Types<'_>, tree: &Bound<'_, PyAny>, any_case: bool, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, any_case)?;
    let root = plan::node(tree, any_case, columns.len())?;
    Ok(decoding(decoder::Decoder::new(columns, root, utc)))
}

/// Avro of one writer's schema. `words`: the plan (avro/words.rs). `head`: bytes before a message's record.
#[pyfunction(name = "AvroDecoder")]
fn avro_decoder(types: Types<'_>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, false)?;
    let (root, shapes) = avro::words::plan(words, columns.len())?;
    Ok(decoding(avro::decoder::Decoder::new(columns, root, avro::values::Context { shapes, utc }, head)))
}

/// Protobuf of one type. `words`: the plan (protobuf/words.rs). `head`: bytes before a message's fields.
#[pyfunction(name = "ProtobufDecoder")]
fn protobuf_decoder(types: Types<'_>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, false)?;
    let (root, shapes) = protobuf::words::plan(words, columns.len())?;
    Ok(decoding(protobuf::decoder::Decoder::new(columns, root, protobuf::values::Context { shapes, utc }, head)))
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

/// Rows of a record batch from `start` on in Avro's binary encoding (avro/rows.rs), until there are `enough` bytes.
#[pyfunction]
fn avro_rows<'py>(batch: &Bound<'py, PyAny>, start: usize, enough: usize) -> PyResult<(usize, Bound<'py, PyBytes>)> {
    let encoded = imported::with_rows(batch, |rows| guarded(&mut Some(()), |()| avro::rows::encode(rows, start, enough)))??;
    let (count, bytes) =
        encoded.map_err(|refused| PyValueError::new_err(format!("rows are not written as Avro: {refused:?}")))?;
    Ok((count, PyBytes::new(batch.py(), &bytes)))
}

impl From<Panicked> for PyErr {
    fn from(_: Panicked) -> PyErr {
        PyRuntimeError::new_err("the compiled decoder panicked")
    }
}

#[pymodule]
fn kafka2hive_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(values_and_times, module)?)?;
    module.add_function(wrap_pyfunction!(avro_rows, module)?)?;
    module.add_function(wrap_pyfunction!(json_decoder, module)?)?;
    module.add_function(wrap_pyfunction!(avro_decoder, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf_decoder, module)?)?;
    module.add_class::<BatchDecoder>()
}
