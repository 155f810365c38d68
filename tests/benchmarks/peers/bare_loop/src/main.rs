//! The limit of the benchmarks: fetch, decode, bucket, write Parquet, and nothing else.
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
        let start = |(worker, share)| scope.spawn(move || work(assignment, library, share, worker));
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
