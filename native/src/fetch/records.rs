//! Records copied out of librdkafka's messages, and their parts as Arrow columns.
//!
//! They are copied while the messages are in the processor's cache. Headers are copied only if they are asked for, because
//! librdkafka takes as long to find out that a record has none as to deliver the record. Until then the messages are kept,
//! and with them the whole responses of the brokers, of up to 50 MB, in which they came: `compact` copies the headers too.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::librdkafka::{Message, Messages, RawHeaders};
use crate::array::{Array, Buffer};

/// The values or keys of one column exceed what its offsets can express.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Bytes of many records, one after the other; a record may have none.
struct Parts {
    data: Arc<Vec<u8>>,
    /// Where each part ends, after a 0
    ends: Vec<usize>,
    is_null: Vec<bool>,
}

impl Parts {
    fn with_capacity(count: usize, bytes: usize) -> Self {
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Parts { data: Arc::new(Vec::with_capacity(bytes)), ends, is_null: Vec::with_capacity(count) }
    }

    fn range(&self, place: usize) -> Range<usize> {
        self.ends[place]..self.ends[place + 1]
    }

    fn get(&self, place: usize) -> Option<&[u8]> {
        (!self.is_null[place]).then(|| &self.data[self.range(place)])
    }
}

/// Names and values of one record's headers, as ranges of the bytes of all headers.
type HeaderRanges = Vec<(Range<usize>, Option<Range<usize>>)>;

/// Bytes of a record besides its value, key and headers: offset, leader epoch, timestamp, two ends and two flags.
const RECORD_BYTES: usize = 38;

/// What one delivery held.
pub struct Delivery {
    runs: Vec<(String, i32, Range<usize>)>,
    offsets: Vec<i64>,
    leader_epochs: Vec<i32>,
    timestamps: Vec<i64>,
    values: Parts,
    keys: Parts,
    headers: OnceLock<AllHeaders>,
    /// None once the headers are copied
    messages: Mutex<Option<Messages>>,
}

/// The headers of all records of a delivery.
#[derive(Default)]
struct AllHeaders {
    bytes: Vec<u8>,
    /// Empty if no record has any
    ranges: Vec<Option<HeaderRanges>>,
}

impl AllHeaders {
    fn of<'a>(each: impl Iterator<Item = Option<RawHeaders<'a>>>) -> Self {
        let mut all = AllHeaders::default();
        for (place, headers) in each.enumerate() {
            let Some(headers) = headers else { continue };
            let bytes = &mut all.bytes;
            let mut copy = |part: &[u8]| {
                bytes.extend_from_slice(part);
                bytes.len() - part.len()..bytes.len()
            };
            let ranges = headers.into_iter().map(|(name, value)| (copy(name), value.map(&mut copy))).collect();
            all.ranges.resize(place, None);
            all.ranges.push(Some(ranges));
        }
        all
    }

    fn get(&self, place: usize) -> Option<RawHeaders<'_>> {
        let bytes = |range: &Range<usize>| &self.bytes[range.clone()];
        let ranges = self.ranges.get(place)?.as_ref()?;
        Some(ranges.iter().map(|(name, value)| (bytes(name), value.as_ref().map(bytes))).collect())
    }
}

/// A message, as far as it is copied at once.
struct Source<'a> {
    offset: i64,
    leader_epoch: i32,
    timestamp: i64,
    value: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
}

impl<'a> Source<'a> {
    fn of(message: Message<'a>) -> Self {
        Source {
            offset: message.offset(),
            leader_epoch: message.leader_epoch(),
            timestamp: message.timestamp(),
            value: message.value(),
            key: message.key(),
        }
    }

    fn again((delivery, place): Place<'a>) -> Self {
        Source {
            offset: delivery.offsets[place],
            leader_epoch: delivery.leader_epochs[place],
            timestamp: delivery.timestamps[place],
            value: delivery.values.get(place),
            key: delivery.keys.get(place),
        }
    }
}

/// A delivery that is being copied.
pub struct Builder {
    delivery: Delivery,
    values: Vec<u8>,
    keys: Vec<u8>,
    current: Option<(usize, i32)>,
}

impl Builder {
    /// Makes room for so many records. `values`: empty, with room for their values.
    pub fn new(count: usize, values: Vec<u8>) -> Self {
        let delivery = Delivery {
            runs: vec![],
            offsets: Vec::with_capacity(count),
            leader_epochs: Vec::with_capacity(count),
            timestamps: Vec::with_capacity(count),
            values: Parts::with_capacity(count, 0),
            keys: Parts::with_capacity(count, 0),
            headers: OnceLock::new(),
            messages: Mutex::new(None),
        };
        Builder { delivery, values, keys: vec![], current: None }
    }

    /// Copies the messages of another C call.
    pub fn add(&mut self, messages: &[Message<'_>]) {
        self.current = None; // a topic's address may be another topic's by now
        for message in messages {
            let place = (message.topic(), message.number());
            if self.current != Some(place) {
                self.begin(message.topic_name(), place);
            }
            self.push(Source::of(*message));
        }
    }

    fn begin(&mut self, topic: String, place: (usize, i32)) {
        let start = self.delivery.offsets.len();
        self.current = Some(place);
        match self.delivery.runs.last_mut() {
            Some((last, number, _)) if *last == topic && *number == place.1 => {}
            _ => self.delivery.runs.push((topic, place.1, start..start)),
        }
    }

    #[inline(always)]
    fn push(&mut self, source: Source<'_>) {
        let delivery = &mut self.delivery;
        delivery.offsets.push(source.offset);
        delivery.leader_epochs.push(source.leader_epoch);
        delivery.timestamps.push(source.timestamp);
        for (part, bytes, parts) in
            [(source.value, &mut self.values, &mut delivery.values), (source.key, &mut self.keys, &mut delivery.keys)]
        {
            bytes.extend_from_slice(part.unwrap_or_default());
            parts.ends.push(bytes.len());
            parts.is_null.push(part.is_none());
        }
        let count = delivery.offsets.len();
        if let Some((_, _, places)) = delivery.runs.last_mut() {
            places.end = count;
        }
    }

    /// The whole delivery. `messages`: all that were added.
    pub fn finish(mut self, messages: Messages) -> Delivery {
        self.delivery.messages = Mutex::new(Some(messages));
        self.without_messages()
    }

    fn without_messages(mut self) -> Delivery {
        self.delivery.values.data = Arc::new(self.values);
        self.delivery.keys.data = Arc::new(self.keys);
        self.delivery
    }
}

impl Delivery {
    /// The bytes of all values, which others may read as long as they have a part of them.
    pub fn values(&self) -> Arc<Vec<u8>> {
        self.values.data.clone()
    }

    /// Gives librdkafka its messages back, after the headers are copied.
    pub fn free_messages(&self) {
        self.headers();
    }

    /// The headers; gives librdkafka its messages back.
    fn headers(&self) -> &AllHeaders {
        self.headers.get_or_init(|| {
            let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).take();
            messages.map(|mut messages| AllHeaders::of(messages.headers())).unwrap_or_default()
        })
    }

    /// The approximate memory of the delivery, in bytes, without messages.
    fn size(&self) -> usize {
        self.size_of(&(0..self.offsets.len())) + self.headers.get().map_or(0, |headers| headers.bytes.len())
    }

    /// The approximate part of it that the records at these places need, without headers.
    fn size_of(&self, places: &Range<usize>) -> usize {
        let bytes = |parts: &Parts| parts.ends[places.end] - parts.ends[places.start];
        bytes(&self.values) + bytes(&self.keys) + places.len() * RECORD_BYTES
    }
}

/// The part of a record whose bytes become a column.
#[derive(Clone, Copy)]
pub enum Part {
    /// Null for a tombstone
    Value,
    /// Null for a null key
    Key,
}

impl Part {
    fn of(self, delivery: &Delivery) -> &Parts {
        match self {
            Part::Value => &delivery.values,
            Part::Key => &delivery.keys,
        }
    }
}

/// Some of the records of one or more deliveries, in order.
#[derive(Clone)]
pub struct Records {
    pieces: Vec<(Arc<Delivery>, Range<usize>)>,
}

/// A record: its delivery and its place there.
pub type Place<'a> = (&'a Delivery, usize);

/// Names and values of headers.
pub type Headers<'a> = Vec<(&'a str, Option<&'a [u8]>)>;

/// A name that is not UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Records {
    /// The runs of consecutive records of one topic partition, with topic and number.
    pub fn runs(delivery: &Arc<Delivery>) -> Vec<(String, i32, Records)> {
        let records = |places: &Range<usize>| Records { pieces: vec![(delivery.clone(), places.clone())] };
        delivery.runs.iter().map(|(topic, number, places)| (topic.clone(), *number, records(places))).collect()
    }

    /// The records of all arguments, one after the other. Neighbours in a delivery become one piece.
    pub fn joined<'a>(several: impl Iterator<Item = &'a Records>) -> Records {
        let mut pieces: Vec<(Arc<Delivery>, Range<usize>)> = vec![];
        for (delivery, places) in several.flat_map(|records| records.pieces.iter()) {
            match pieces.last_mut() {
                Some((last, before)) if Arc::ptr_eq(last, delivery) && before.end == places.start => before.end = places.end,
                _ => pieces.push((delivery.clone(), places.clone())),
            }
        }
        Records { pieces }
    }

    /// The same records, without messages. Those that are less than half of a delivery are copied, so that they do not keep
    /// all of it.
    pub fn compact(&self) -> Records {
        for (delivery, _) in &self.pieces {
            delivery.headers();
        }
        let is_large = |(delivery, places): &(Arc<Delivery>, Range<usize>)| 2 * delivery.size_of(places) >= delivery.size();
        if self.pieces.iter().all(is_large) {
            return self.clone();
        }
        let mut builder = Builder::new(self.len(), Vec::with_capacity(self.bytes()));
        let all = self.all();
        all.iter().for_each(|place| builder.push(Source::again(*place)));
        let mut delivery = builder.without_messages();
        delivery.headers = AllHeaders::of(all.iter().map(|(delivery, place)| delivery.headers().get(*place))).into();
        let delivery = Arc::new(delivery);
        let places = 0..delivery.offsets.len();
        Records { pieces: vec![(delivery, places)] }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|(_, places)| places.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records from `start` up to, not including, `end`.
    pub fn slice(&self, start: usize, end: usize) -> Records {
        let (mut passed, mut pieces) = (0, vec![]);
        for (delivery, places) in &self.pieces {
            let (from, to) = (start.max(passed), end.min(passed + places.len()));
            if from < to {
                pieces.push((delivery.clone(), places.start + from - passed..places.start + to - passed));
            }
            passed += places.len();
        }
        Records { pieces }
    }

    /// All places.
    pub fn all(&self) -> Vec<Place<'_>> {
        let mut all = Vec::with_capacity(self.len());
        for (delivery, places) in &self.pieces {
            all.extend(places.clone().map(|place| (&**delivery, place)));
        }
        all
    }

    /// The places of the records at `positions`; none if one of them does not exist.
    pub fn chosen(&self, positions: impl Iterator<Item = i64>) -> Option<Vec<Place<'_>>> {
        let all = self.all();
        positions.map(|position| all.get(usize::try_from(position).ok()?).copied()).collect()
    }

    /// Offset and leader epoch of the last record.
    pub fn last(&self) -> Option<(i64, i32)> {
        let (delivery, places) = self.pieces.last()?;
        let last = places.end.checked_sub(1)?;
        Some((delivery.offsets[last], delivery.leader_epochs[last]))
    }

    /// The sum of the values' sizes.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|(delivery, places)| delivery.values.ends[places.end] - delivery.values.ends[places.start]).sum()
    }

    /// The size of each value, 0 for a tombstone.
    pub fn sizes(&self) -> Vec<i64> {
        self.all().into_iter().map(|(delivery, place)| delivery.values.range(place).len() as i64).collect()
    }

    /// How many records come before the first whose offset is `offset` or higher. Offsets must ascend.
    pub fn count_below(&self, offset: i64) -> usize {
        self.pieces.iter().map(|(delivery, places)| delivery.offsets[places.clone()].partition_point(|one| *one < offset)).sum()
    }

    /// The column `timestamps` of all records.
    pub fn timestamps(&self) -> Array {
        let all: Vec<_> = self.pieces.iter().map(|(delivery, places)| &delivery.timestamps[places.clone()]).collect();
        times(all.concat())
    }

    /// The column (binary) of all records. Those of one delivery share its memory.
    pub fn whole(&self, part: Part) -> Result<Array, TooLarge> {
        let [(delivery, places)] = &self.pieces[..] else { return binary(&self.all(), part) };
        let parts = part.of(delivery);
        let (start, end) = (parts.ends[places.start], parts.ends[places.end]);
        i32::try_from(end - start).map_err(|_| TooLarge)?;
        let ends: Vec<i32> = parts.ends[places.start..=places.end].iter().map(|end| (end - start) as i32).collect();
        let nulls: Vec<u32> =
            (0..).zip(&parts.is_null[places.clone()]).filter(|(_, null)| **null).map(|(place, _)| place).collect();
        Ok(Array::new(places.len(), &nulls, vec![Buffer::of(ends), Buffer::within(parts.data.clone(), start..end)], vec![]))
    }
}

/// Values or keys (binary).
pub fn binary(places: &[Place<'_>], part: Part) -> Result<Array, TooLarge> {
    let room = places.iter().map(|(delivery, place)| part.of(delivery).range(*place).len()).sum();
    i32::try_from(room).map_err(|_| TooLarge)?;
    let (mut data, mut ends, mut nulls) = (Vec::with_capacity(room), Vec::with_capacity(places.len() + 1), vec![]);
    ends.push(0_i32);
    for (number, (delivery, place)) in places.iter().enumerate() {
        match part.of(delivery).get(*place) {
            Some(bytes) => data.extend_from_slice(bytes),
            None => nulls.push(number as u32),
        }
        ends.push(data.len() as i32);
    }
    Ok(Array::new(places.len(), &nulls, vec![Buffer::of(ends), Buffer::of(data)], vec![]))
}

/// Milliseconds from 1970 UTC (int64), null for a record without a timestamp.
pub fn timestamps(places: &[Place<'_>]) -> Array {
    times(places.iter().map(|(delivery, place)| delivery.timestamps[*place]).collect())
}

fn times(times: Vec<i64>) -> Array {
    let nulls: Vec<u32> = (0..).zip(&times).filter(|(_, time)| **time < 0).map(|(place, _)| place).collect();
    Array::new(times.len(), &nulls, vec![Buffer::of(times)], vec![])
}

/// Offsets (int64).
pub fn offsets(places: &[Place<'_>]) -> Array {
    let offsets: Vec<i64> = places.iter().map(|(delivery, place)| delivery.offsets[*place]).collect();
    Array::new(offsets.len(), &[], vec![Buffer::of(offsets)], vec![])
}

/// None for a record without headers.
pub fn headers<'a>((delivery, place): Place<'a>) -> Result<Option<Headers<'a>>, Unreadable> {
    let Some(headers) = delivery.headers().get(place) else { return Ok(None) };
    let named = |(name, value)| Ok((std::str::from_utf8(name).map_err(|_| Unreadable)?, value));
    headers.into_iter().map(named).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: [(i32, Option<&[u8]>); 7] =
        [(0, Some(b"a")), (0, None), (0, Some(b"")), (1, Some(b"bcd")), (1, None), (0, Some(b"ef")), (0, Some(b"g"))];

    /// Offsets are 10, 20 ...
    fn delivery() -> Arc<Delivery> {
        let mut builder = Builder::new(2, vec![]);
        for (number, (topic_partition, value)) in RECORDS.into_iter().enumerate() {
            if builder.current != Some((1, topic_partition)) {
                builder.begin("t".into(), (1, topic_partition));
            }
            let offset = 10 + 10 * number as i64;
            builder.push(Source { offset, leader_epoch: number as i32, timestamp: offset - 20, value, key: None });
        }
        let headers = (0..RECORDS.len()).map(|number| -> Option<RawHeaders> {
            match number {
                3 => Some(vec![(b"h", Some(b"1")), (b"h", None), (b"", Some(b""))]),
                5 => Some(vec![(b"h", None), (b"\xff", None)]),
                _ => None,
            }
        });
        Arc::new(Delivery { headers: AllHeaders::of(headers).into(), ..builder.without_messages() })
    }

    #[test]
    fn runs_hold_each_record_once_in_its_topic_partition() {
        let runs = Records::runs(&delivery());
        let found: Vec<(i32, usize, usize)> =
            runs.iter().map(|(_, number, records)| (*number, records.len(), records.bytes())).collect();
        assert_eq!(found, [(0, 3, 1), (1, 2, 3), (0, 2, 3)]);
        assert_eq!(runs[1].2.last(), Some((50, 4)));
    }

    #[test]
    fn records_keep_their_parts_when_they_are_sliced_and_joined() {
        let runs = Records::runs(&delivery());
        let joined = Records::joined([&runs[2].2, &runs[0].2, &runs[1].2].into_iter());
        assert_eq!(joined.pieces.len(), 2); // the first two runs are neighbours
        let some = joined.slice(1, 4);
        let values: Vec<Option<&[u8]>> = some.all().iter().map(|(delivery, place)| delivery.values.get(*place)).collect();
        assert_eq!(values, [Some(&b"g"[..]), Some(b"a"), None]);
        assert_eq!(joined.sizes(), [2, 1, 1, 0, 0, 3, 0]);
        assert!(joined.slice(3, 3).is_empty());
        assert!(some.chosen([0, 3].into_iter()).is_none());
        assert!(some.chosen([-1].into_iter()).is_none());
    }

    #[test]
    fn a_small_part_of_a_delivery_is_copied_and_a_large_one_is_not() {
        let delivery = delivery();
        let runs = Records::runs(&delivery);
        let whole = Records::joined(runs.iter().map(|(_, _, records)| records)).compact();
        assert!(Arc::ptr_eq(&whole.pieces[0].0, &delivery));
        for (_, _, records) in runs {
            let compact = records.compact();
            assert!(!Arc::ptr_eq(&compact.pieces[0].0, &delivery));
            assert!(Arc::ptr_eq(&compact.compact().pieces[0].0, &compact.pieces[0].0));
            assert_eq!((compact.last(), compact.sizes()), (records.last(), records.sizes()));
            for (before, after) in records.all().into_iter().zip(compact.all()) {
                assert_eq!(headers(before), headers(after));
                assert_eq!(before.0.values.get(before.1), after.0.values.get(after.1));
                assert_eq!(before.0.keys.get(before.1), after.0.keys.get(after.1));
                assert_eq!(before.0.timestamps[before.1], after.0.timestamps[after.1]);
            }
        }
    }

    #[test]
    fn only_a_negative_time_is_none() {
        let delivery = delivery();
        let nulls = |place| timestamps(&[(&*delivery, place)]).null_count;
        assert_eq!(delivery.timestamps[..3], [-10, 0, 10]);
        assert_eq!([0, 1, 2].map(nulls), [1, 0, 0]);
    }

    #[test]
    fn offsets_below_a_limit_are_counted() {
        let (_, _, records) = Records::runs(&delivery()).swap_remove(0);
        assert_eq!([9, 10, 11, 30, 31].map(|limit| records.count_below(limit)), [0, 0, 1, 2, 3]);
    }

    #[test]
    fn a_header_name_that_is_not_utf_8_spoils_the_headers_of_its_record_alone() {
        let delivery = delivery();
        let found: Vec<_> = (0..7).map(|place| headers((&*delivery, place))).collect();
        assert_eq!(found[3], Ok(Some(vec![("h", Some(&b"1"[..])), ("h", None), ("", Some(b""))])));
        assert_eq!(found[5], Err(Unreadable));
        assert!([0, 1, 2, 4, 6].iter().all(|place| found[*place] == Ok(None)));
    }
}
