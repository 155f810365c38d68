//! Messages that are arrays of JSON objects, split into their elements.

use crate::array::{Array, Buffer};
use crate::cursor::{Cursor, Doubt, Parsed};

/// Returns the elements' texts as an array of binary, and for each message how many it has: -1 if the message is in doubt.
///
/// A message with an element that is no object, or with more than `most` elements, is in doubt.
pub fn split(offsets: &[i32], data: &[u8], most: usize) -> (Array, Vec<i64>) {
    let used = &data[offsets[0] as usize..offsets[offsets.len() - 1] as usize];
    let mut texts = Texts { data: Vec::with_capacity(used.len()), ends: vec![0] };
    let counts = offsets.windows(2).map(|pair| texts.take(&data[pair[0] as usize..pair[1] as usize], most)).collect();
    let Texts { data, ends } = texts;
    (Array::new(ends.len() - 1, &[], vec![Buffer::of(ends), Buffer::of(data)], vec![]), counts)
}

struct Texts {
    data: Vec<u8>,
    ends: Vec<i32>,
}

impl Texts {
    /// Appends the elements of a message. Returns how many, or -1 without any of them.
    fn take(&mut self, message: &[u8], most: usize) -> i64 {
        let (size, count) = (self.data.len(), self.ends.len());
        if std::str::from_utf8(message).is_ok() && self.elements(message, count + most).is_ok() {
            return (self.ends.len() - count) as i64;
        }
        self.data.truncate(size);
        self.ends.truncate(count);
        -1
    }

    fn elements(&mut self, message: &[u8], most: usize) -> Parsed<()> {
        let mut cursor = Cursor::new(message);
        cursor.blanks();
        cursor.expect(b'[')?;
        cursor.blanks();
        if !cursor.eat(b']') {
            loop {
                if cursor.peek() != b'{' || self.ends.len() == most {
                    return Err(Doubt);
                }
                let start = cursor.at;
                cursor.skip(0)?;
                self.data.extend_from_slice(message.get(start..cursor.at).ok_or(Doubt)?);
                self.ends.push(self.data.len() as i32); // no longer than the messages, whose offsets are i32, too
                cursor.blanks();
                if !cursor.eat(b',') {
                    break;
                }
                cursor.blanks();
            }
            cursor.expect(b']')?;
        }
        cursor.blanks();
        if cursor.at != message.len() {
            return Err(Doubt);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_doubt_leaves_nothing_behind() {
        let messages = [r#"[{"a":1}]"#, "[{},1]", " [ {} , {\"b\":\"]\"} ] ", "[]", "[{},]", "[{}]x", "", "[{},{},{}]"];
        let mut offsets = vec![0];
        for message in messages {
            offsets.push(offsets[offsets.len() - 1] + message.len() as i32);
        }
        let (texts, counts) = split(&offsets, messages.concat().as_bytes(), 2);
        assert_eq!(counts, [1, -1, 2, 0, -1, -1, -1, -1]);
        assert_eq!(texts.length, 3);
        assert_eq!(split(&[0, 4], b"[{}\xff", 2).1, [-1]);
        assert!(split(&[0], b"", 2).1.is_empty());
    }
}
