//! Columns of canonical JSON texts: sorted keys, no white space, the shortest escapes, numbers with their characters.

use crate::array::Array;
use crate::arrays::Texts;
use crate::brackets::{another, open};
use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::spelling::quote;
use std::ops::Range;

/// Texts of values, in the canonical form of docs/decoding.md.
#[derive(Default)]
pub struct Canonical {
    texts: Texts,
    out: Vec<u8>,
    sorted: Vec<u8>,
    /// The unescaped keys of all open objects
    keys: Vec<u8>,
    members: Vec<Member>,
}

/// A member of an object that is still open.
#[derive(Clone)]
struct Member {
    /// In `keys`
    key: Range<usize>,
    /// In `out`, with its key and its colon
    text: Range<usize>,
}

impl Canonical {
    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        if cursor.peek() == b'"' {
            self.texts.push(cursor.string(&mut context.scratch)?);
            return Ok(());
        }
        self.out.clear();
        self.keys.clear();
        self.members.clear();
        self.write(cursor, context, depth)?;
        self.texts.push(&self.out);
        context.changed.json += 1;
        Ok(())
    }

    fn write(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        let start = cursor.at;
        match cursor.peek() {
            b'"' => {
                quote(cursor.string(&mut context.scratch)?, &mut self.out);
                return Ok(());
            }
            b'{' => return self.write_object(cursor, context, depth),
            b'[' => return self.write_array(cursor, context, depth),
            b't' => cursor.literal(b"true")?,
            b'f' => cursor.literal(b"false")?,
            b'n' => cursor.literal(b"null")?,
            _ => cursor.skip_number()?,
        }
        self.out.extend_from_slice(cursor.text.get(start..cursor.at).ok_or(Doubt)?);
        Ok(())
    }

    fn write_array(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        open(cursor, b'[', depth)?;
        self.out.push(b'[');
        if !cursor.eat(b']') {
            loop {
                self.write(cursor, context, depth + 1)?;
                if !another(cursor, b']')? {
                    break;
                }
                self.out.push(b',');
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn write_object(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        open(cursor, b'{', depth)?;
        let (first, first_key, start) = (self.members.len(), self.keys.len(), self.out.len() + 1);
        self.out.push(b'{');
        if !cursor.eat(b'}') {
            loop {
                let (text, key) = (self.out.len(), self.keys.len());
                let name = cursor.string(&mut context.scratch)?;
                quote(name, &mut self.out);
                self.keys.extend_from_slice(name);
                let key = key..self.keys.len();
                cursor.colon()?;
                self.out.push(b':');
                self.write(cursor, context, depth + 1)?;
                self.members.push(Member { key, text: text..self.out.len() });
                if !another(cursor, b'}')? {
                    break;
                }
                self.out.push(b',');
            }
        }
        self.sort(first, start)?;
        self.members.truncate(first);
        self.keys.truncate(first_key);
        self.out.push(b'}');
        Ok(())
    }

    /// Sorts the members from number `first` on by their keys; their texts begin at `start`. Doubt if a key repeats.
    fn sort(&mut self, first: usize, start: usize) -> Parsed<()> {
        let Canonical { keys, members, .. } = self;
        let members = &mut members[first..];
        let key = |member: &Member| &keys[member.key.clone()];
        if members.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])) {
            return Ok(());
        }
        members.sort_unstable_by(|one, other| key(one).cmp(key(other)));
        if members.windows(2).any(|pair| key(&pair[0]) == key(&pair[1])) {
            return Err(Doubt);
        }
        self.sorted.clear();
        for (number, member) in members.iter().enumerate() {
            if number > 0 {
                self.sorted.push(b',');
            }
            self.sorted.extend_from_slice(&self.out[member.text.clone()]);
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&self.sorted);
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        self.texts.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.texts.truncate(length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.texts.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let mut column = Canonical::default();
        let mut context = Context { scratch: vec![], utc: true, changed: Default::default(), with_non_finite: 0 };
        column.take(&mut Cursor::new(text.as_bytes()), &mut context, 1).ok()?;
        Some(String::from_utf8(column.texts.get(0).to_vec()).unwrap())
    }

    #[test]
    fn keys_are_sorted_and_white_space_and_needless_escapes_are_gone() {
        for (text, expected) in [
            (
                r#"{ "b" : [ 1.10 , {"z":{},"a":null} ] , "a" : "\u0041\/\n\u0001\u007f" }"#,
                "{\"a\":\"A/\\n\\u0001\u{7f}\",\"b\":[1.10,{\"a\":null,\"z\":{}}]}",
            ),
            (r#"{"b":1,"\u0061":2,"":3}"#, r#"{"":3,"a":2,"b":1}"#),
            ("-0.0E+05", "-0.0E+05"),
            (r#"" a""#, " a"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected));
        }
        for bad in [r#"{"a":1,"\u0061":1}"#, r#"[{"b":1,"a":1,"b":2}]"#, "[1,]", "{,}", "[01]"] {
            assert_eq!(canonical(bad), None, "{bad}");
        }
    }
}
