//! The count of deliveries: which offsets of which topic partition arrived, before anything else of a message is read.
//!
//! Its counts are compared with those of the rows (docs/protocol.md), so it shares nothing with records.rs.

use super::librdkafka::Message;

/// Consecutive messages of one topic partition, in the order of delivery.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    /// The topic
    pub topic: String,
    /// Number of the topic partition
    pub number: i32,
    /// An offset for each message
    pub offsets: Vec<i64>,
}

/// The runs of one delivery.
#[derive(Default)]
pub struct Tally {
    /// All runs, in the order of delivery
    pub runs: Vec<Run>,
    current: Option<(usize, i32)>,
}

impl Tally {
    /// Adds the messages of another C call.
    pub fn add(&mut self, messages: &[Message<'_>]) {
        self.current = None; // a topic's address may be another topic's by now
        for message in messages {
            self.count((message.topic(), message.number()), message.offset(), *message, Message::topic_name);
        }
    }

    /// `place` is a topic's identity and the topic partition's number.
    fn count<T>(&mut self, place: (usize, i32), offset: i64, message: T, name: impl FnOnce(T) -> String) {
        if self.current == Some(place) {
            if let Some(run) = self.runs.last_mut() {
                run.offsets.push(offset);
                return;
            }
        }
        self.current = Some(place);
        let (topic, number) = (name(message), place.1);
        match self.runs.last_mut() {
            Some(run) if run.topic == topic && run.number == number => run.offsets.push(offset),
            _ => self.runs.push(Run { topic, number, offsets: vec![offset] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(each: &[(usize, i32, i64)]) -> Vec<(String, i32, Vec<i64>)> {
        let mut tally = Tally::default();
        for (topic, number, offset) in each {
            tally.count((*topic, *number), *offset, topic, |topic| topic.to_string());
        }
        tally.runs.into_iter().map(|run| (run.topic, run.number, run.offsets)).collect()
    }

    #[test]
    fn a_run_ends_where_the_topic_or_the_topic_partition_changes() {
        let found = tally(&[(1, 0, 5), (1, 0, 9), (1, 1, 5), (2, 1, 6), (1, 0, 10)]);
        let run = |topic: &str, number, offsets: &[i64]| (topic.to_owned(), number, offsets.to_vec());
        assert_eq!(found, [run("1", 0, &[5, 9]), run("1", 1, &[5]), run("2", 1, &[6]), run("1", 0, &[10])]);
    }

    #[test]
    fn each_message_is_counted_also_one_that_comes_twice_or_late() {
        assert_eq!(tally(&[]), []);
        assert_eq!(tally(&[(1, 0, 7), (1, 0, 7), (1, 0, 3)]), [("1".to_owned(), 0, vec![7, 7, 3])]);
    }
}
