//! The keys of an object: which slot each of them fills, and a guess at the next key from earlier objects.
//!
//! Writers nearly always write keys in the same order, so for each key the one that followed it last is remembered, also
//! for keys that fill no slot. A guess costs one comparison; if it does not match, the key is looked up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::cursor::{Cursor, Doubt, Parsed};

/// Limits of keys that are remembered for an object: how many, and how long.
const MOST_KNOWN: usize = 512;
const LONGEST_KNOWN: usize = 128;

/// The number before an object's first key.
pub const START: usize = 0;
/// The number of a key that is not remembered.
const UNKNOWN: usize = usize::MAX;

type Table = HashMap<Box<[u8]>, usize, BuildHasherDefault<Quick>>;

/// The wanted keys of one object in the tree, and what earlier objects had there.
pub struct Keys {
    wanted: Table,
    any_case: bool,
    /// Whether a wanted key is not ASCII; only Python knows the case of other letters
    foreign: bool,
    known: Vec<Known>,
    /// Numbers in `known`
    index: Table,
    /// For each slot the last object that had its key
    seen: Vec<u64>,
    object: u64,
    /// How many wanted keys this object had
    pub filled: usize,
}

/// A key that messages write without escapes.
struct Known {
    /// With its quotes and the colon
    raw: Box<[u8]>,
    /// Its first 24 bytes, and which of them are its own
    words: [u64; 3],
    masks: [u64; 3],
    slot: Option<usize>,
    /// The number of the key that followed last
    next: usize,
}

impl Known {
    fn new(key: &[u8], slot: Option<usize>) -> Self {
        let raw: Box<[u8]> = [b"\"", key, b"\":"].concat().into();
        let (mut bytes, mut own) = ([0; 24], [0; 24]);
        for (at, byte) in raw.iter().enumerate().take(24) {
            (bytes[at], own[at]) = (*byte, 0xff);
        }
        let words =
            |bytes: [u8; 24]| std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|at| bytes[8 * word + at])));
        Known { words: words(bytes), masks: words(own), raw, slot, next: UNKNOWN }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.raw[1..self.raw.len() - 2]).into_owned()
    }

    #[inline(always)]
    fn is_at(&self, cursor: &Cursor) -> bool {
        let size = self.raw.len();
        match cursor.bytes::<24>(cursor.at) {
            Some(bytes) if size <= 24 => {
                let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[8 * at + n]));
                let differs = |at: usize| (word(at) & self.masks[at]) ^ self.words[at];
                differs(0) | differs(1) | differs(2) == 0
            }
            _ => cursor.text.get(cursor.at..cursor.at + size) == Some(&self.raw),
        }
    }
}

impl Keys {
    /// `wanted`: distinct keys, in lower case if `any_case`; key number n fills slot n.
    pub fn new(wanted: &[String], any_case: bool) -> Self {
        let mut keys = Keys {
            wanted: Table::default(),
            any_case,
            foreign: !wanted.iter().all(|key| key.is_ascii()),
            known: vec![Known::new(b"", None)], // START; neither `next` nor `index` ever leads to it
            index: Table::default(),
            seen: vec![0; wanted.len()],
            object: 0,
            filled: 0,
        };
        let mut before = START;
        for (slot, key) in wanted.iter().enumerate() {
            keys.wanted.insert(key.as_bytes().into(), slot);
            before = keys.remember(key.as_bytes(), Some(slot), before);
        }
        keys
    }

    /// Returns the remembered keys that fill no slot, beginning with number `met`, and how many keys are remembered.
    pub fn passed(&self, met: usize) -> (Vec<String>, usize) {
        let new = self.known.iter().skip(met.max(START + 1)).filter(|known| known.slot.is_none());
        (new.map(Known::text).collect(), self.known.len())
    }

    /// Begins an object.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.object += 1;
        self.filled = 0;
    }

    /// Reads a member's key, its colon and the white space after it. Returns the key's number, for the next call's `before`, and
    /// its slot.
    #[inline(always)]
    pub fn find(&mut self, cursor: &mut Cursor, before: usize, scratch: &mut Vec<u8>) -> Parsed<(usize, Option<usize>)> {
        let mut guess = self.known.get(before).map_or(UNKNOWN, |known| known.next);
        for _ in 0..2 {
            let Some(known) = self.known.get(guess) else { break };
            if known.is_at(cursor) {
                cursor.at += known.raw.len();
                cursor.blanks();
                return Ok((guess, known.slot));
            }
            guess = known.next;
        }
        self.look_up(cursor, before, scratch)
    }

    #[inline(never)]
    fn look_up(&mut self, cursor: &mut Cursor, before: usize, scratch: &mut Vec<u8>) -> Parsed<(usize, Option<usize>)> {
        let start = cursor.at;
        if let Some((guess, slot)) = self.known.get(before).and_then(|known| self.spaced(cursor, known.next)) {
            return Ok((guess, slot));
        }
        let key = cursor.string(scratch)?;
        let plain = cursor.at - start == key.len() + 2;
        cursor.colon()?;
        if plain {
            if let Some(number) = self.index.get(key).copied() {
                self.follow(before, number);
                return Ok((number, self.known[number].slot));
            }
        }
        let slot = self.slot_of(key)?;
        if plain && self.known.len() < MOST_KNOWN && key.len() <= LONGEST_KNOWN {
            return Ok((self.remember(key, slot, before), slot));
        }
        Ok((UNKNOWN, slot))
    }

    /// Reads key number `guess` if it is next, followed by its colon after any white space.
    fn spaced(&self, cursor: &mut Cursor, guess: usize) -> Option<(usize, Option<usize>)> {
        let known = self.known.get(guess)?;
        let (_colon, key) = known.raw.split_last()?;
        let rest = cursor.text.get(cursor.at..)?.strip_prefix(key)?;
        let mut end = Cursor::new(rest);
        end.colon().ok()?;
        cursor.at = cursor.text.len() - rest.len() + end.at;
        Some((guess, known.slot))
    }

    fn slot_of(&self, key: &[u8]) -> Parsed<Option<usize>> {
        if !self.any_case {
            return Ok(self.wanted.get(key).copied());
        }
        if key.is_ascii() {
            return Ok(self.wanted.get(key.to_ascii_lowercase().as_slice()).copied());
        }
        if self.foreign {
            return Err(Doubt);
        }
        Ok(None) // a key that is not ASCII never equals one that is, in any case
    }

    /// Remembers a key, and that it followed `before`. A key that JSON must escape never matches a message.
    fn remember(&mut self, key: &[u8], slot: Option<usize>, before: usize) -> usize {
        if key.iter().any(|byte| matches!(byte, 0..=0x1f | b'"' | b'\\')) {
            return UNKNOWN;
        }
        let number = self.known.len();
        self.known.push(Known::new(key, slot));
        self.index.insert(key.into(), number);
        self.follow(before, number);
        number
    }

    fn follow(&mut self, before: usize, next: usize) {
        if let Some(known) = self.known.get_mut(before) {
            known.next = next;
        }
    }

    /// Notes that this object has a key for the slot; Doubt if it has a second one.
    #[inline(always)]
    pub fn once(&mut self, slot: usize) -> Parsed<()> {
        if self.has(slot) {
            return Err(Doubt);
        }
        self.seen[slot] = self.object;
        self.filled += 1;
        Ok(())
    }

    /// Returns whether this object had a key for the slot.
    #[inline(always)]
    pub fn has(&self, slot: usize) -> bool {
        self.seen[slot] == self.object
    }
}

/// A hash for short keys in small tables.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots_of(keys: &mut Keys, names: &[&str]) -> Vec<Option<usize>> {
        let mut before = START;
        keys.begin();
        let mut slots = Vec::new();
        for name in names {
            let text = format!("\"{name}\":1}}          ");
            let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
            let (number, slot) = keys.find(&mut cursor, before, &mut Vec::new()).unwrap();
            assert_eq!(cursor.peek(), b'1');
            before = number;
            slots.push(slot);
        }
        slots
    }

    #[test]
    fn keys_in_any_order_fill_their_slots() {
        let names = ["a", "b", "a key longer than sixteen", "sixteen letters", "seven77"].map(String::from);
        let mut keys = Keys::new(&names, false);
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 2, 4, 1, 3], [0, 1, 2, 3, 4]] {
            let given: Vec<&str> = order.iter().map(|at: &usize| names[*at].as_str()).collect();
            assert_eq!(slots_of(&mut keys, &given), order.map(Some).to_vec());
        }
        assert_eq!(slots_of(&mut keys, &["A", "a", "x", "b", "aa", ""]), [None, Some(0), None, Some(1), None, None]);
        assert_eq!(slots_of(&mut keys, &["\\u0061", "a\\u0020key longer than sixteen"]), [Some(0), Some(2)]);
    }

    #[test]
    fn any_case_is_asciis_and_other_letters_are_doubt_where_they_matter() {
        let mut ascii = Keys::new(&["title".into()], true);
        assert_eq!(slots_of(&mut ascii, &["TITLE", "Title", "\u{212a}", "t\u{130}tle"]), [Some(0), Some(0), None, None]);
        let foreign = Keys::new(&["день".into()], true);
        assert_eq!(foreign.slot_of("День".as_bytes()), Err(Doubt));
        assert_eq!(foreign.slot_of(b"den"), Ok(None));
    }

    #[test]
    fn a_colon_may_stand_behind_white_space() {
        let mut keys = Keys::new(&["a".into(), "b".into()], false);
        for text in [r#""a" : 1"#, r#""a"  :1"#, r#""a":  1"#, r#""a" : 1                       "#] {
            let mut cursor = Cursor::new(text.as_bytes());
            assert_eq!(keys.find(&mut cursor, START, &mut Vec::new()).unwrap().1, Some(0), "{text}");
            assert_eq!(cursor.peek(), b'1');
        }
        for text in [r#""a" 1"#, r#""a""#, r#""a" "#, r#""a"#, r#""b" 1                          "#] {
            assert_eq!(keys.find(&mut Cursor::new(text.as_bytes()), START, &mut Vec::new()), Err(Doubt), "{text}");
        }
    }

    #[test]
    fn a_key_that_json_must_escape_is_never_guessed() {
        let mut keys = Keys::new(&["a\"b".into(), "c".into()], false);
        assert_eq!(slots_of(&mut keys, &["a\\\"b", "c"]), [Some(0), Some(1)]);
        let mut cursor = Cursor::new(b"\"a\"b\":1                ");
        assert_eq!(keys.find(&mut cursor, START, &mut Vec::new()), Err(Doubt));
    }

    #[test]
    fn very_many_keys_are_still_found() {
        let mut keys = Keys::new(&["wanted".into()], false);
        for i in 0..2000 {
            assert_eq!(slots_of(&mut keys, &[&format!("key {i}"), "wanted"]), [None, Some(0)]);
        }
        assert!(keys.known.len() <= MOST_KNOWN);
    }

    #[test]
    fn keys_that_fill_no_slot_are_told_once() {
        let mut keys = Keys::new(&["a".into()], false);
        assert_eq!(keys.passed(0), (vec![], 2));
        slots_of(&mut keys, &["a", "x", "é", "x"]);
        assert_eq!(keys.passed(2), (vec!["x".to_string(), "é".to_string()], 4));
        slots_of(&mut keys, &["x", "y", "a"]);
        assert_eq!(keys.passed(4), (vec!["y".to_string()], 5));
    }

    #[test]
    fn a_slot_is_filled_once_in_an_object() {
        let mut keys = Keys::new(&["a".into()], false);
        for _ in 0..2 {
            keys.begin();
            assert_eq!((keys.has(0), keys.once(0), keys.once(0)), (false, Ok(()), Err(Doubt)));
        }
    }
}
