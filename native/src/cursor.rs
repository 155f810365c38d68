//! A position in one message, and the steps over JSON's grammar (RFC 8259) that all columns share.
//!
//! The text is UTF-8, which was checked before. A step that does not find what it expects returns `Doubt`; where the cursor
//! then is does not matter, because the exact decoder reads the message from its beginning.

/// The message is not certainly acceptable; the exact decoder decides on it.
#[derive(Debug, PartialEq, Eq)]
pub struct Doubt;

/// A value, or doubt about the whole message.
pub type Parsed<T> = Result<T, Doubt>;

/// Limit of objects and arrays that are open at once, including the message itself.
pub const MAX_DEPTH: u32 = 64;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A position in a JSON text.
pub struct Cursor<'a> {
    /// The message.
    pub text: &'a [u8],
    /// The next byte.
    pub at: usize,
}

impl<'a> Cursor<'a> {
    /// Begins at the first byte of a message.
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    /// Returns the next byte; at the end NUL, which no JSON text contains.
    #[inline(always)]
    pub fn peek(&self) -> u8 {
        match self.text.get(self.at) {
            Some(byte) => *byte,
            None => 0,
        }
    }

    /// Returns the next byte and moves past it.
    #[inline(always)]
    pub fn bump(&mut self) -> u8 {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    /// Moves past JSON's white space.
    #[inline(always)]
    pub fn blanks(&mut self) {
        if self.peek() <= b' ' {
            self.some_blanks();
        }
    }

    #[inline(never)]
    fn some_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Moves past the byte `wanted`.
    #[inline(always)]
    pub fn expect(&mut self, wanted: u8) -> Parsed<()> {
        if self.bump() == wanted {
            Ok(())
        } else {
            Err(Doubt)
        }
    }

    /// Moves past the byte `wanted` if it is the next one; returns whether it was.
    #[inline(always)]
    pub fn eat(&mut self, wanted: u8) -> bool {
        let is_next = self.peek() == wanted;
        self.at += usize::from(is_next);
        is_next
    }

    /// Moves past the bytes of `word`.
    #[inline]
    pub fn literal(&mut self, word: &[u8]) -> Parsed<()> {
        let end = self.at + word.len();
        if self.text.get(self.at..end) != Some(word) {
            return Err(Doubt);
        }
        self.at = end;
        Ok(())
    }

    /// Moves past the colon of a member and the white space around it.
    #[inline(always)]
    pub fn colon(&mut self) -> Parsed<()> {
        if !self.eat(b':') {
            self.blanks();
            self.expect(b':')?;
        }
        self.blanks();
        Ok(())
    }

    /// Returns the eight bytes from `at` on, little-endian; None if the message has fewer.
    #[inline(always)]
    pub fn word(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(at)?))
    }

    /// Returns the N bytes from `at` on; None if the message has fewer.
    #[inline(always)]
    pub fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.text.get(at..)?.get(..N)?.try_into().ok()
    }

    /// Moves to the string's next quote, backslash or control character, and returns it; NUL at the message's end.
    #[inline(always)]
    fn seek_special(&mut self) -> u8 {
        while let Some(word) = self.word(self.at) {
            let marks = specials(word);
            if marks != 0 {
                self.at += (marks.trailing_zeros() / 8) as usize;
                return self.peek();
            }
            self.at += 8;
        }
        loop {
            let byte = self.peek();
            if byte < 0x20 || byte == b'"' || byte == b'\\' {
                return byte;
            }
            self.at += 1;
        }
    }

    /// Reads a string of at most 14 bytes without escapes, whose opening quote is next. Returns 16 bytes that begin with it,
    /// and its size; None, without moving, if there is no such string or it is near the message's end.
    #[inline(always)]
    pub fn short_string(&mut self) -> Option<([u8; 16], usize)> {
        let bytes = u128::from_le_bytes(self.bytes(self.at)?);
        if bytes as u8 != b'"' {
            return None;
        }
        let text = bytes >> 8;
        let mut word = text as u64;
        let mut marks = specials(word);
        let mut before = 0;
        if marks == 0 {
            word = (text >> 64) as u64 | 0xff << 56;
            marks = specials(word);
            before = 8;
            if marks == 0 {
                return None;
            }
        }
        let place = marks.trailing_zeros();
        if word >> (place & 0x38) & 0xff != u64::from(b'"') {
            return None;
        }
        let size = before + (place / 8) as usize;
        self.at += size + 2;
        Some((text.to_le_bytes(), size))
    }

    /// Reads the string whose opening quote is next. Returns it without escapes; `scratch` holds it if it had some.
    #[inline(always)]
    pub fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Parsed<&'s [u8]>
    where
        'a: 's,
    {
        self.expect(b'"')?;
        let start = self.at;
        match self.seek_special() {
            b'"' => {
                let text = self.text;
                let end = self.at;
                self.at += 1;
                text.get(start..end).ok_or(Doubt)
            }
            b'\\' => {
                self.unescape(start, scratch)?;
                Ok(scratch)
            }
            _ => Err(Doubt),
        }
    }

    #[cold]
    #[inline(never)]
    fn unescape(&mut self, start: usize, scratch: &mut Vec<u8>) -> Parsed<()> {
        scratch.clear();
        let mut from = start;
        loop {
            let special = self.seek_special();
            scratch.extend_from_slice(self.text.get(from..self.at).ok_or(Doubt)?);
            self.at += 1;
            match special {
                b'"' => return Ok(()),
                b'\\' => {
                    let letter = self.escape()?;
                    scratch.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return Err(Doubt),
            }
            from = self.at;
        }
    }

    /// Reads the rest of an escape, after its backslash; Doubt for half of a surrogate pair.
    fn escape(&mut self) -> Parsed<char> {
        Ok(match self.bump() {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.four_hex_digits()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).ok_or(Doubt);
                }
                self.literal(b"\\u")?;
                let second = self.four_hex_digits()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(Doubt);
                }
                let both = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(both).ok_or(Doubt);
            }
            _ => return Err(Doubt),
        })
    }

    fn four_hex_digits(&mut self) -> Parsed<u32> {
        let mut number = 0;
        for _ in 0..4 {
            let digit = char::from(self.bump()).to_digit(16).ok_or(Doubt)?;
            number = number * 16 + digit;
        }
        Ok(number)
    }

    /// Moves past the rest of a string, after its opening quote.
    #[inline]
    pub fn skip_string(&mut self) -> Parsed<()> {
        loop {
            let special = self.seek_special();
            self.at += 1;
            match special {
                b'"' => return Ok(()),
                b'\\' => {
                    self.escape()?;
                }
                _ => return Err(Doubt),
            }
        }
    }

    /// Moves past a value that no column takes, and checks it. `depth`: how many objects and arrays are open around it.
    pub fn skip(&mut self, depth: u32) -> Parsed<()> {
        self.skip_value::<false>(depth)
    }

    /// Moves past a value as `skip` does; NaN and the infinities are values, too.
    pub fn skip_with_non_finite(&mut self, depth: u32) -> Parsed<()> {
        self.skip_value::<true>(depth)
    }

    #[inline(always)]
    fn skip_value<const NON_FINITE: bool>(&mut self, depth: u32) -> Parsed<()> {
        let mut open = depth;
        let mut objects: u64 = 0; // a bit for each open object (1) or array (0), the innermost lowest; MAX_DEPTH is 64
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    self.skip_string()?;
                }
                bracket @ (b'{' | b'[') => {
                    let object = bracket == b'{';
                    if open == MAX_DEPTH {
                        return Err(Doubt);
                    }
                    self.at += 1;
                    self.blanks();
                    if !self.eat(if object { b'}' } else { b']' }) {
                        open += 1;
                        objects = objects << 1 | u64::from(object);
                        if object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'N' if NON_FINITE => self.literal(b"NaN")?,
                b'I' if NON_FINITE => self.literal(b"Infinity")?,
                b'-' if NON_FINITE && self.text.get(self.at + 1) == Some(&b'I') => self.literal(b"-Infinity")?,
                _ => self.skip_number()?,
            }
            loop {
                if open == depth {
                    return Ok(());
                }
                self.blanks();
                let object = objects & 1 == 1;
                match self.bump() {
                    b',' => {
                        self.blanks();
                        if object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    b'}' if object => {}
                    b']' if !object => {}
                    _ => return Err(Doubt),
                }
                open -= 1;
                objects >>= 1;
            }
        }
    }

    fn skip_key(&mut self) -> Parsed<()> {
        self.expect(b'"')?;
        self.skip_string()?;
        self.colon()
    }
}

/// Returns a word with the high bit set for quotes, backslashes and control characters. Only its lowest set bit is certain.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let below = |value: u64, limit: u64| value.wrapping_sub(ONES * limit) & !value;
    (below(quote, 1) | below(backslash, 1) | below(word, 0x20)) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(text: &str) -> Parsed<usize> {
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.skip(1)?;
        Ok(cursor.at)
    }

    fn string(text: &str) -> Option<String> {
        let mut scratch = Vec::new();
        let text = Cursor::new(text.as_bytes()).string(&mut scratch).ok()?;
        Some(String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn specials_are_found_at_every_place_of_a_word() {
        for at in 0..8 {
            for byte in 0..=255u8 {
                let mut word = [b'~'; 8];
                word[at] = byte;
                let marks = specials(u64::from_le_bytes(word));
                let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(marks != 0, special);
                assert!(!special || marks.trailing_zeros() as usize / 8 == at);
            }
        }
    }

    #[test]
    fn short_strings_are_those_of_every_reader() {
        for size in 0..=20 {
            for special in ["", "é", "\\n", "\n", "\u{1}", "\u{7f}"] {
                for place in 0..=size {
                    let text = format!("\"{}{special}{}\",\"behind\":12345678", "x".repeat(place), "y".repeat(size - place));
                    let (mut long, mut short) = (Cursor::new(text.as_bytes()), Cursor::new(text.as_bytes()));
                    let mut scratch = Vec::new();
                    let expected = long.string(&mut scratch);
                    if let Some((bytes, length)) = short.short_string() {
                        assert_eq!(Ok(&bytes[..length]), expected, "{text}");
                        assert_eq!(short.at, long.at);
                        assert!(length <= 14);
                    } else {
                        assert_eq!(short.at, 0);
                        assert!(special.len() + size > 14 || !matches!(special, "" | "é" | "\u{7f}"), "{text}");
                    }
                }
            }
        }
        for text in ["", "\"", "\"a", "\"a\"", "a\"bcdefghijklmnop", "\"abcdefghijklmnop", "\"abcdefgh\\"] {
            assert_eq!(Cursor::new(text.as_bytes()).short_string(), None, "{text}");
        }
    }

    #[test]
    fn strings_are_unescaped_and_half_surrogates_are_doubt() {
        assert_eq!(string(r#""a long text, plain""#).as_deref(), Some("a long text, plain"));
        assert_eq!(string(r#""\u0041\n\"\\\/é""#).as_deref(), Some("A\n\"\\/é"));
        assert_eq!(string(r#""\ud83d\ude00""#).as_deref(), Some("\u{1f600}"));
        for bad in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx\ude00""#, r#""\x""#, r#""\u00g0""#] {
            assert_eq!(string(bad), None, "{bad}");
        }
        for bad in ["\"a\nb\"", "\"a", "\"0123456789", "a"] {
            assert_eq!(string(bad), None, "{bad}");
        }
    }

    #[test]
    fn skipped_values_must_be_json() {
        for good in ["1", "-0.5e+3", "true", "null", "[]", "{}", "[1,[2],{}]", r#"{"a":{"b":[{}]},"c":"]"}"#, "[ 1 , 2 ]"] {
            assert_eq!(skipped(good), Ok(good.len()), "{good}");
        }
        for bad in [
            "[1,]",
            "[,1]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "[1}",
            r#"{"a":1]"#,
            "[",
            "nul",
            "tru",
            "NaN",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            r#"{a:1}"#,
            "['a']",
            r#"["\u12"]"#,
        ] {
            assert_eq!(skipped(bad), Err(Doubt), "{bad}");
        }
        assert_eq!(skipped("01"), Ok(1)); // whoever called finds the 1
    }

    #[test]
    fn values_nest_as_deep_as_the_contract_says() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(skipped(&nested(63)), Ok(126));
        assert_eq!(skipped(&nested(64)), Err(Doubt));
    }
}
