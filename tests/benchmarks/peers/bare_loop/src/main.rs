//! Fetch, decode, bucket, write Parquet, and nothing else; with `--only fetch` no more than what any program must do that
//! reads Kafka by librdkafka: the limit of the benchmarks.
//!
//! No commit, no retries, no dead letters, no checks: what it writes is right as long as nothing fails. One thread for
//! each share of the topic partitions, each with a consumer of the librdkafka that confluent-kafka brings along. It
//! shares no code with kafka2hive.

mod files;
mod kafka;
mod rows;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use files::Buckets;
use kafka::{Consumer, Library};
use rows::{Decoder, Shape};

type Outcome<T> = Result<T, String>;

/// The command line that all peers have, and where librdkafka is.
struct Assignment {
    bootstrap: String,
    topic: String,
    output: PathBuf,
    shape: Shape,
    parallelism: usize,
    librdkafka: String,
    only_fetch: bool,
}

impl Assignment {
    fn read() -> Outcome<Self> {
        let arguments: Vec<String> = env::args().skip(1).collect();
        let pairs: HashMap<&str, &str> =
            arguments.chunks_exact(2).map(|pair| (pair[0].trim_start_matches("--"), pair[1].as_str())).collect();
        let get = |name: &str| pairs.get(name).copied().ok_or(format!("--{name} is missing"));
        let output = get("output")?.strip_prefix("file://").ok_or("--output must be a file: URI")?;
        let shape = fs::read(get("shape")?).map_err(|error| format!("{}: {error}", pairs["shape"]))?;
        Ok(Assignment {
            bootstrap: get("bootstrap")?.into(),
            topic: get("topic")?.into(),
            output: output.into(),
            shape: sonic_rs::from_slice(&shape).map_err(|error| error.to_string())?,
            parallelism: get("parallelism")?.parse().map_err(|_| "--parallelism must be a number")?,
            librdkafka: get("librdkafka")?.into(),
            only_fetch: pairs.get("only") == Some(&"fetch"),
        })
    }
}

/// Read `share`, topic partitions and the ends of their logs, and write its files.
fn work(assignment: &Assignment, library: &Library, share: &[(i32, i64)], worker: usize) -> Outcome<()> {
    let consumer = Consumer::new(library, &assignment.bootstrap)?;
    consumer.assign(&assignment.topic, share)?;
    let mut decoder = Decoder::new(&assignment.shape)?;
    let mut buckets = Buckets::new(&assignment.output, &assignment.shape, decoder.schema(), worker)?;
    let mut left: i64 = share.iter().map(|(_, end)| end).sum();
    while left > 0 {
        left -= consumer.consume(left, |value| match decoder.decode(value)? {
            true => buckets.add(&decoder.take()?),
            false => Ok(()),
        })? as i64;
    }
    buckets.add(&decoder.take()?)?;
    buckets.close()
}

/// Read `share` and copy each value once; write how many there were, and their bytes.
fn fetch(assignment: &Assignment, library: &Library, share: &[(i32, i64)], worker: usize) -> Outcome<()> {
    let consumer = Consumer::new(library, &assignment.bootstrap)?;
    consumer.assign(&assignment.topic, share)?;
    let end: i64 = share.iter().map(|(_, end)| end).sum();
    let (mut records, mut bytes, mut copies) = (0, 0, Vec::new());
    while records < end {
        records += consumer.consume(end - records, |value| {
            copies.extend_from_slice(value);
            Ok(())
        })? as i64;
        bytes += copies.len();
        copies.clear();
    }
    fs::create_dir_all(&assignment.output).map_err(|error| error.to_string())?;
    fs::write(assignment.output.join(worker.to_string()), format!("{records} {bytes}")).map_err(|error| error.to_string())
}

fn run() -> Outcome<()> {
    let assignment = Assignment::read()?;
    let library = Library::load(&assignment.librdkafka)?;
    let ends = Consumer::new(&library, &assignment.bootstrap)?.ends(&assignment.topic)?;
    let mut shares = vec![vec![]; assignment.parallelism];
    for (place, end) in ends.into_iter().enumerate() {
        shares[place % assignment.parallelism].push(end);
    }
    thread::scope(|scope| {
        let (assignment, library) = (&assignment, &library);
        let job = if assignment.only_fetch { fetch } else { work };
        let start = |(worker, share)| scope.spawn(move || job(assignment, library, share, worker));
        let threads: Vec<_> = shares.iter().map(Vec::as_slice).enumerate().map(start).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a panic aborts the process"))
    })
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bare loop: {reason}");
            ExitCode::FAILURE
        }
    }
}
