//! The module that Python imports: `kafka2hive_native`.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::array::{Array, Buffer};
use crate::columns::Column;
use crate::rows::Batches;
use crate::{arrow, avro, decoder, elements, fetch, guarded, imported, marks, messages, plan, protobuf, written, Panicked};

/// Python uses this library only if its own number is the same (kafka2hive/config/native_library.py).
///
/// Raise both in the commit that adds, removes or changes anything that Python calls here, or what a message becomes.
const INTERFACE: u32 = 13;

/// Decodes batches of messages for one table; each of the functions below makes one for its format.
#[pyclass(module = "kafka2hive_native")]
struct BatchDecoder {
    /// None after a panic.
    inner: Option<Box<dyn Batches>>,
}

#[pymethods]
impl BatchDecoder {
    /// Reads an Arrow array of messages. Returns a byte for each: 1 if it became a row, 0 if it is in doubt.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// Returns the rows' instants as int64, in microseconds since 1970 UTC; `rows` takes their wall clocks.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let instants = guarded(&mut self.inner, |decoder| decoder.rows().instants())?;
        let bytes: Vec<u8> = instants.into_iter().flat_map(i64::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the keys that no column takes, beginning with key number `met`, and how many keys were met in all.
    fn passed_keys(&mut self, met: usize) -> PyResult<(Vec<String>, usize)> {
        Ok(guarded(&mut self.inner, |decoder| decoder.passed_keys(met))?)
    }

    /// Returns how many values leeway changed since the last call, by kind.
    fn changed(&mut self) -> PyResult<Vec<(&'static str, u64)>> {
        Ok(guarded(&mut self.inner, |decoder| decoder.changed())?)
    }

    /// Takes the rows that were read last, as the capsule of an Arrow struct array whose children are the columns.
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

/// Makes a decoder of JSON. `types`: each column's type; `tree`: where the values stand (plan.rs). `utc`: the table's
/// zone is UTC, so that instants need no conversion.
///
/// Between batches the decoder remembers only the keys that it met and their order.
#[pyfunction(name = "Decoder")]
fn json_decoder(types: Types<'_>, tree: &Bound<'_, PyAny>, any_case: bool, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, any_case)?;
    let root = plan::node(tree, any_case, columns.len())?;
    let whole = plan::whole(tree, columns.len())?;
    Ok(decoding(decoder::Decoder::new(columns, root, whole, utc)))
}

/// Makes a decoder of Avro by one writer's schema. `words`: its plan (avro/words.rs). `head`: bytes before the record.
#[pyfunction(name = "AvroDecoder")]
fn avro_decoder(types: Types<'_>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, false)?;
    let avro::words::Plan { root, whole, shapes, forms } = avro::words::plan(words, columns.len())?;
    let context = avro::values::Context { shapes, forms, utc };
    Ok(decoding(avro::decoder::Decoder::new(columns, root, whole, context, head)))
}

/// Makes a decoder of one Protobuf type. `words`: its plan (protobuf/words.rs). `head`: bytes before the fields.
#[pyfunction(name = "ProtobufDecoder")]
fn protobuf_decoder(types: Types<'_>, words: &Bound<'_, PyAny>, head: usize, utc: bool) -> PyResult<BatchDecoder> {
    let columns = columns(types, false)?;
    let protobuf::words::Plan { root, whole, shapes, forms } = protobuf::words::plan(words, columns.len())?;
    let context = protobuf::values::Context { shapes, forms, utc };
    Ok(decoding(protobuf::decoder::Decoder::new(columns, root, whole, context, head)))
}

/// The declared forms of a column's times (written.rs).
#[pyclass(module = "kafka2hive_native")]
struct Times {
    /// None after a panic.
    inner: Option<written::Times>,
}

#[pymethods]
impl Times {
    /// `forms`: in the order in which they are tried, as the words of plan.rs.
    #[new]
    fn new(forms: Types<'_>) -> PyResult<Self> {
        let forms = forms.iter().map(plan::time_form).collect::<PyResult<_>>()?;
        Ok(Times { inner: Some(written::Times::new(forms)) })
    }

    /// Reads an Arrow array of texts. Returns the capsules of the arrays of a batch (written.rs), int64, uint8, int32 and int32,
    /// and the names of zones.
    fn read<'py>(&mut self, texts: &Bound<'py, PyAny>) -> PyResult<([Bound<'py, PyCapsule>; 4], Vec<String>)> {
        let written::Batch { micros, marks, zones, offsets, names } =
            arrow::with_messages(texts, |offsets, data| guarded(&mut self.inner, |times| times.read(offsets, data)))??;
        let array = |length, values| arrow::capsule(Array::new(length, &[], vec![values], vec![]), texts.py());
        let arrays = [
            array(micros.len(), Buffer::of(micros))?,
            array(marks.len(), Buffer::of(marks))?,
            array(zones.len(), Buffer::of(zones))?,
            array(offsets.len(), Buffer::of(offsets))?,
        ];
        Ok((arrays, names))
    }
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Returns the values and times of Kafka's messages (messages.rs), as capsules of Arrow arrays.
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

/// Returns a byte for each message of an Arrow array: 1 if it may hold a schema of Kafka Connect (marks.rs).
#[pyfunction]
fn may_hold_schema<'py>(values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let marks =
        arrow::with_messages(values, |offsets, data| guarded(&mut Some(()), |()| marks::may_hold_schema(offsets, data)))??;
    Ok(PyBytes::new(values.py(), &marks))
}

/// Splits an Arrow array of messages that are arrays of JSON objects (elements.rs).
///
/// Returns the capsules of the elements' texts (binary), and of each message's number of elements (int64, -1: in doubt).
#[pyfunction]
fn split_arrays<'py>(values: &Bound<'py, PyAny>, most: usize) -> PyResult<Capsules<'py>> {
    let (texts, counts) =
        arrow::with_messages(values, |offsets, data| guarded(&mut Some(()), |()| elements::split(offsets, data, most)))??;
    let counts = Array::new(counts.len(), &[], vec![Buffer::of(counts)], vec![]);
    Ok((arrow::capsule(texts, values.py())?, arrow::capsule(counts, values.py())?))
}

/// Returns the checksum CRC-32C of some bytes.
#[pyfunction]
fn crc32c(octets: &[u8]) -> u32 {
    crate::crc32c::crc32c(octets)
}

/// Encodes rows of a record batch as Avro (avro/rows.rs), from row `start` until there are `enough` bytes.
///
/// Returns how many rows, and their bytes.
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
    module.add_function(wrap_pyfunction!(crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(split_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(may_hold_schema, module)?)?;
    module.add_function(wrap_pyfunction!(json_decoder, module)?)?;
    module.add_function(wrap_pyfunction!(avro_decoder, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf_decoder, module)?)?;
    module.add_class::<BatchDecoder>()?;
    module.add_class::<Times>()?;
    fetch::python::add_to(module)
}
