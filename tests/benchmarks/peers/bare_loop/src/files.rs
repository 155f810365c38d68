//! A Parquet file for each bucket.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take_record_batch;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::rows::{date, Every, Shape};
use crate::Outcome;

const ZSTD_LEVEL: i32 = 3;
const ROW_GROUP_ROWS: usize = 1024 * 1024;
/// A page starts the compressor anew, which costs more than compressing few rows.
const PAGE_ROWS: usize = 128 * 1024;
/// Below this average sorting is cheaper than slicing.
const ROWS_PER_RUN: usize = 64;
const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// Every bucket that has rows, with its file.
pub struct Buckets {
    folder: PathBuf,
    worker: usize,
    every: Every,
    time: usize,
    schema: SchemaRef,
    places: HashMap<i64, usize>,
    files: Vec<ArrowWriter<File>>,
}

impl Buckets {
    pub fn new(folder: &Path, shape: &Shape, schema: SchemaRef, worker: usize) -> Outcome<Self> {
        let time = schema.index_of(&shape.time).map_err(|error| error.to_string())?;
        Ok(Buckets { folder: folder.into(), worker, every: shape.every, time, schema, places: HashMap::new(), files: vec![] })
    }

    /// Encode rows; runs of one bucket stay slices if they are long enough.
    pub fn add(&mut self, rows: &RecordBatch) -> Outcome<()> {
        let places = self.places_of(rows)?;
        if places.chunk_by(|a, b| a == b).count() * ROWS_PER_RUN <= places.len() {
            return self.write(rows, &places);
        }
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|row| places[*row as usize]);
        let in_order: Vec<_> = order.iter().map(|row| places[*row as usize]).collect();
        self.write(&take_record_batch(rows, &UInt32Array::from(order)).map_err(|error| error.to_string())?, &in_order)
    }

    fn write(&mut self, rows: &RecordBatch, places: &[usize]) -> Outcome<()> {
        let mut start = 0;
        for run in places.chunk_by(|a, b| a == b) {
            self.files[run[0]].write(&rows.slice(start, run.len())).map_err(failed)?;
            start += run.len();
        }
        Ok(())
    }

    /// The number of each row's file.
    fn places_of(&mut self, rows: &RecordBatch) -> Outcome<Vec<usize>> {
        let times = rows.column(self.time).as_primitive_opt::<TimestampMicrosecondType>().ok_or("the time is no timestamp")?;
        if times.null_count() > 0 {
            return Err("a record without time".into());
        }
        let mut last = (i64::MIN, 0);
        let mut places = Vec::with_capacity(rows.num_rows());
        for time in times.values() {
            let hour = time.div_euclid(MICROS_PER_HOUR);
            if hour != last.0 {
                last = (hour, self.place(hour)?);
            }
            places.push(last.1);
        }
        Ok(places)
    }

    fn place(&mut self, hour: i64) -> Outcome<usize> {
        let (year, month, day) = date(hour.div_euclid(24));
        let key = match self.every {
            Every::Month => year * 12 + month,
            Every::Hour => hour,
        };
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let value = match self.every {
            Every::Month => format!("{year:04}{month:02}"),
            Every::Hour => format!("{year:04}{month:02}{day:02}{:02}", hour.rem_euclid(24)),
        };
        let folder = self.folder.join(format!("dt={value}"));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let path = folder.join(format!("{}.parquet", self.worker));
        let file = File::create(path).map_err(|error| error.to_string())?;
        let options = ArrowWriterOptions::new().with_properties(properties(&self.schema)).with_skip_arrow_metadata(true);
        self.files.push(ArrowWriter::try_new_with_options(file, self.schema.clone(), options).map_err(failed)?);
        self.places.insert(key, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }

    /// Write the last row groups, and the footers.
    pub fn close(self) -> Outcome<()> {
        self.files.into_iter().try_for_each(|file| file.close().map(drop).map_err(failed))
    }
}

fn failed(error: ParquetError) -> String {
    error.to_string()
}

/// Numbers and times are encoded as differences, which is cheaper than a dictionary's hash table; texts have dictionaries.
fn properties(schema: &SchemaRef) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("zstd has this level");
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for field in schema.fields() {
        if matches!(field.data_type(), DataType::Int64 | DataType::Timestamp(..)) {
            let column = ColumnPath::from(field.name().as_str());
            builder = builder
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}
