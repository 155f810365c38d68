//! A column that takes values in other forms than its type's: in quotes, with marks, as words, or beyond what it can hold.

use crate::array::Array;
use crate::columns::Column;
use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed};
use crate::times::{DAY, EARLIEST, LATEST};

/// The forms that a column takes.
#[derive(Default)]
pub struct Forms {
    /// Numbers and booleans in strings
    pub quoted: bool,
    /// Empty strings, as NULL
    pub empty: bool,
    /// Numbers with a point or an exponent, as integers
    pub whole: bool,
    /// Words for true and for false
    pub booleans: Option<Words>,
    /// The marks of numbers in strings
    pub numbers: Option<Marks>,
    /// NaN and the infinities; whether they are kept, otherwise NULL
    pub non_finite: Option<bool>,
    /// Times outside the years 1 to 9999; whether they become the first or the last time, otherwise NULL
    pub beyond: Option<bool>,
}

/// Words for true and for false. Most columns hold one of each, so those that were met last are compared first.
pub struct Words {
    words: Vec<(Box<[u8]>, bool)>,
    last: [usize; 2],
}

impl Words {
    /// Makes a list in which both words that were met last are the first one.
    pub fn new(yes: Vec<String>, no: Vec<String>) -> Self {
        let of = |words: Vec<String>, value| words.into_iter().map(move |word| (word.into_bytes().into(), value));
        Words { words: of(no, false).chain(of(yes, true)).collect(), last: [0; 2] }
    }

    #[inline(always)]
    fn value(&mut self, text: &[u8]) -> Parsed<bool> {
        for at in self.last {
            if self.words.get(at).is_some_and(|(word, _)| **word == *text) {
                return Ok(self.words[at].1);
            }
        }
        let at = self.words.iter().position(|(word, _)| **word == *text).ok_or(Doubt)?;
        let value = self.words[at].1;
        self.last[usize::from(value)] = at;
        Ok(value)
    }
}

/// The marks of numbers in strings.
pub struct Marks {
    /// Between groups of three digits; empty: no groups
    pub thousands: Vec<u8>,
    /// Before the fraction
    pub decimal: u8,
}

/// A column that takes its values in other forms, too.
pub struct Loose {
    /// The values
    pub inner: Column,
    forms: Forms,
    /// A number without its marks
    plain: Vec<u8>,
}

impl Loose {
    /// Makes an empty column.
    pub fn new(inner: Column, forms: Forms) -> Self {
        Loose { inner, forms, plain: vec![] }
    }

    #[inline(never)]
    pub(crate) fn take(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        match cursor.peek() {
            b'"' => self.take_text(cursor, context, depth),
            b'N' | b'I' => self.take_name(cursor, context),
            b'-' if cursor.text.get(cursor.at + 1) == Some(&b'I') => self.take_name(cursor, context),
            b'-' | b'0'..=b'9' => self.take_number(cursor, context, depth),
            _ => self.inner.take(cursor, context, depth),
        }
    }

    /// Takes an integer of few digits in any of its forms; None for everything else, which may be such an integer, too.
    #[inline(always)]
    pub(crate) fn take_short(&mut self, cursor: &mut Cursor, context: &mut Context) -> Option<()> {
        let most = match &self.inner {
            Column::Int32(_) => i64::from(i32::MAX),
            Column::Int64(_) => i64::MAX,
            _ => return None,
        };
        let (mut quoted, mut whole, mut marked) = (false, false, false);
        let number = match (cursor.peek(), &self.forms.numbers) {
            (b'"', Some(marks)) => {
                marked = true;
                marked_integer(cursor, marks)?
            }
            (byte, _) => {
                quoted = byte == b'"';
                if quoted && !self.forms.quoted {
                    return None;
                }
                cursor.at += usize::from(quoted);
                let number = cursor.short_integer()?;
                if matches!(cursor.peek(), b'.' | b'e' | b'E') {
                    let [b'.', b'0', next] = cursor.bytes(cursor.at)? else { return None };
                    whole = self.forms.whole && !matches!(next, b'0'..=b'9' | b'e' | b'E');
                    if !whole {
                        return None;
                    }
                    cursor.at += 2;
                }
                if quoted && !cursor.eat(b'"') {
                    return None;
                }
                number
            }
        };
        match &mut self.inner {
            Column::Int32(column) if (-most..=most).contains(&number) => column.push(number as i32),
            Column::Int64(column) => column.push(number),
            _ => return None,
        }
        context.changed.quoted += u64::from(quoted);
        context.changed.whole += u64::from(whole);
        context.changed.numbers += u64::from(marked);
        Some(())
    }

    fn take_text(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        let first = cursor.text.get(cursor.at + 1).copied();
        if first == Some(b'"') && self.forms.empty {
            cursor.at += 2;
            self.inner.push_null();
            context.changed.empty += 1;
            return Ok(());
        }
        if let Some(marks) = &self.forms.numbers {
            let start = cursor.at;
            if unmarked(cursor.string(&mut context.scratch)?, marks, &mut self.plain) {
                return self.take_plain(context, depth);
            }
            cursor.at = start;
        }
        if self.is_word(cursor) {
            return self.take_word(cursor, context);
        }
        match first {
            Some(b'-' | b'0'..=b'9' | b't' | b'f') if self.forms.quoted => {
                cursor.at += 1;
                match first {
                    Some(b't' | b'f') => self.inner.take(cursor, context, depth)?,
                    _ => self.take_number(cursor, context, depth)?,
                }
                context.changed.quoted += 1;
                cursor.expect(b'"')
            }
            _ if self.forms.numbers.is_some() => Err(Doubt),
            _ => self.inner.take(cursor, context, depth),
        }
    }

    /// Returns whether the string at the cursor may be a word for a value.
    fn is_word(&self, cursor: &Cursor) -> bool {
        if self.forms.booleans.is_some() {
            return true;
        }
        if self.forms.non_finite.is_none() && self.forms.beyond.is_none() {
            return false;
        }
        let letter = match cursor.text.get(cursor.at + 1) {
            Some(b'+' | b'-') => cursor.text.get(cursor.at + 2),
            other => other,
        };
        matches!(letter, Some(b'i' | b'I' | b'n' | b'N'))
    }

    /// Takes a string that is a word for a boolean, a non-finite number or an infinite time.
    fn take_word(&mut self, cursor: &mut Cursor, context: &mut Context) -> Parsed<()> {
        let word = cursor.string(&mut context.scratch)?;
        if let Some(words) = &mut self.forms.booleans {
            let value = words.value(word)?;
            context.changed.booleans += 1;
            return push_boolean(&mut self.inner, value);
        }
        if let Some(kept) = self.forms.non_finite {
            let value = non_finite(word)?;
            context.changed.non_finite += 1;
            return push_float(&mut self.inner, value, kept);
        }
        let at_end = match word {
            [b'-', name @ ..] if name.eq_ignore_ascii_case(b"infinity") => false,
            [b'+', name @ ..] | name if name.eq_ignore_ascii_case(b"infinity") => true,
            _ => return Err(Doubt),
        };
        self.push_far(at_end, context)
    }

    /// Takes NaN or an infinity outside quotes.
    fn take_name(&mut self, cursor: &mut Cursor, context: &mut Context) -> Parsed<()> {
        let kept = self.forms.non_finite.ok_or(Doubt)?;
        let (name, value): (&[u8], f64) = match cursor.peek() {
            b'N' => (b"NaN", f64::NAN),
            b'I' => (b"Infinity", f64::INFINITY),
            _ => (b"-Infinity", f64::NEG_INFINITY),
        };
        cursor.literal(name)?;
        context.changed.non_finite += 1;
        push_float(&mut self.inner, value, kept)
    }

    /// Takes the number in `plain`.
    fn take_plain(&mut self, context: &mut Context, depth: u32) -> Parsed<()> {
        let size = self.plain.len();
        self.plain.extend([0; 8]); // so that the number is read by whole words
        let plain = std::mem::take(&mut self.plain);
        let mut number = Cursor::new(&plain);
        let taken = self.take_number(&mut number, context, depth);
        let is_whole_text = number.at == size;
        self.plain = plain;
        taken?;
        if !is_whole_text {
            return Err(Doubt);
        }
        context.changed.numbers += 1;
        Ok(())
    }

    fn take_number(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        if let Some(words) = &mut self.forms.booleans {
            let start = cursor.at;
            cursor.skip_number()?;
            let value = words.value(cursor.text.get(start..cursor.at).ok_or(Doubt)?)?;
            context.changed.booleans += 1;
            return push_boolean(&mut self.inner, value);
        }
        if !self.forms.whole || !has_point(cursor) {
            return self.take_time_or_number(cursor, context, depth);
        }
        let whole = i64::try_from(cursor.decimal(19, 0)?).map_err(|_| Doubt)?;
        self.push_whole(whole, context)?;
        context.changed.whole += 1;
        Ok(())
    }

    /// Appends a whole number to a column of integers, or of numbers of a unit since 1970.
    fn push_whole(&mut self, number: i64, context: &mut Context) -> Parsed<()> {
        if self.is_far(number) {
            return self.push_far(number > 0, context);
        }
        match &mut self.inner {
            Column::Int8(column) => column.push(number.try_into().map_err(|_| Doubt)?),
            Column::Int16(column) => column.push(number.try_into().map_err(|_| Doubt)?),
            Column::Int32(column) => column.push(number.try_into().map_err(|_| Doubt)?),
            Column::Int64(column) => column.push(number),
            Column::Moment(moments) => moments.push_number(number, context.utc)?,
            _ => return Err(Doubt),
        }
        Ok(())
    }

    /// Returns whether a number of a unit since 1970 is certainly outside the years that the column holds, and has a value then.
    fn is_far(&self, number: i64) -> bool {
        let (Some(_), Column::Moment(moments)) = (self.forms.beyond, &self.inner) else { return false };
        // a zone is less than two days away from UTC
        let margin = i128::from(2 * DAY);
        moments
            .micros(number)
            .is_some_and(|micros| micros < i128::from(EARLIEST) - margin || micros > i128::from(LATEST) + margin)
    }

    fn take_time_or_number(&mut self, cursor: &mut Cursor, context: &mut Context, depth: u32) -> Parsed<()> {
        if self.forms.beyond.is_some() {
            if let Column::Moment(moments) = &self.inner {
                let number = cursor.integer(1 << 63)?;
                moments.micros(number).ok_or(Doubt)?;
                return self.push_whole(number, context);
            }
        }
        self.inner.take(cursor, context, depth)
    }

    /// Appends what a time beyond the column becomes. `at_end`: whether it is later than all times of the column.
    fn push_far(&mut self, at_end: bool, context: &mut Context) -> Parsed<()> {
        let micros = if at_end { LATEST } else { EARLIEST };
        match (&mut self.inner, self.forms.beyond) {
            (inner, Some(false)) => inner.push_null(),
            (Column::Moment(moments), Some(true)) => moments.push(micros, false, context.utc)?,
            (Column::Date(days), Some(true)) => days.push(micros.div_euclid(DAY) as i32),
            _ => return Err(Doubt),
        }
        context.changed.beyond += 1;
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        self.inner.push_null();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.inner.truncate(length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.inner.finish()
    }
}

fn push_boolean(column: &mut Column, value: bool) -> Parsed<()> {
    let Column::Boolean(booleans) = column else { return Err(Doubt) };
    booleans.push(value);
    Ok(())
}

fn push_float(column: &mut Column, value: f64, kept: bool) -> Parsed<()> {
    match column {
        column if !kept => column.push_null(),
        Column::Float64(numbers) => numbers.push(value),
        Column::Float32(numbers) if value.is_nan() => numbers.push(f32::NAN),
        Column::Float32(numbers) => numbers.push(value as f32),
        _ => return Err(Doubt),
    }
    Ok(())
}

fn non_finite(word: &[u8]) -> Parsed<f64> {
    if word.eq_ignore_ascii_case(b"nan") {
        return Ok(f64::NAN);
    }
    let (size, name) = match word {
        [b'-', name @ ..] => (f64::NEG_INFINITY, name),
        [b'+', name @ ..] | name => (f64::INFINITY, name),
    };
    if name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity") {
        Ok(size)
    } else {
        Err(Doubt)
    }
}

/// Returns whether the digits at the cursor are followed by a point or an exponent.
fn has_point(cursor: &Cursor) -> bool {
    let start = cursor.at + usize::from(cursor.peek() == b'-');
    let mut rest = cursor.text.get(start..).unwrap_or_default().iter();
    matches!(rest.find(|byte| !byte.is_ascii_digit()), Some(b'.' | b'e' | b'E'))
}

/// Reads a string of at most 14 bytes that is an integer with marks of one byte between its groups, or without any.
#[inline(always)]
fn marked_integer(cursor: &mut Cursor, marks: &Marks) -> Option<i64> {
    let (text, size) = cursor.short_string()?;
    let [mark] = marks.thousands[..] else { return None };
    let first = usize::from(text[0] == b'-');
    let (mut number, mut group, mut is_grouped) = (0, 0, false);
    for byte in &text[first..size] {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            number = number * 10 + i64::from(digit);
            group += 1;
        } else if *byte == mark && (group == 3 || (!is_grouped && group > 0 && group < 3)) {
            (group, is_grouped) = (0, true);
        } else {
            return None;
        }
    }
    if group == 0 || (is_grouped && group != 3) || (text[first] == b'0' && size > first + 1) {
        return None;
    }
    Some(if first == 1 { -number } else { number })
}

/// Writes a number without its marks to `plain`; returns whether it has the form that the marks demand.
fn unmarked(text: &[u8], marks: &Marks, plain: &mut Vec<u8>) -> bool {
    plain.clear();
    let mut rest = text;
    if let [b'-', more @ ..] = rest {
        plain.push(b'-');
        rest = more;
    }
    let mut size = digits(&mut rest, plain);
    if size == 0 || (size > 1 && plain[plain.len() - size] == b'0') {
        return false;
    }
    if !marks.thousands.is_empty() && rest.starts_with(&marks.thousands) {
        if size > 3 || plain[plain.len() - size] == b'0' {
            return false;
        }
        while let Some(more) = rest.strip_prefix(marks.thousands.as_slice()) {
            rest = more;
            size = digits(&mut rest, plain);
            if size != 3 {
                return false;
            }
        }
    }
    if rest.first() == Some(&marks.decimal) {
        plain.push(b'.');
        rest = &rest[1..];
        if digits(&mut rest, plain) == 0 {
            return false;
        }
    }
    if let [mark @ (b'e' | b'E'), more @ ..] = rest {
        plain.push(*mark);
        rest = more;
        if let [sign @ (b'+' | b'-'), more @ ..] = rest {
            plain.push(*sign);
            rest = more;
        }
        if digits(&mut rest, plain) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

/// Moves the digits at the beginning of `rest` to `plain`; returns how many.
fn digits(rest: &mut &[u8], plain: &mut Vec<u8>) -> usize {
    let size = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    plain.extend_from_slice(&rest[..size]);
    *rest = &rest[size..];
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, thousands: &str, decimal: u8) -> Option<String> {
        let mut plain = vec![];
        let marks = Marks { thousands: thousands.as_bytes().to_vec(), decimal };
        unmarked(text.as_bytes(), &marks, &mut plain).then(|| String::from_utf8(plain).unwrap())
    }

    #[test]
    fn groups_have_three_digits() {
        for (text, number) in [
            ("1.234,56", "1234.56"),
            ("-1.234.567", "-1234567"),
            ("0,5", "0.5"),
            ("1234567,5", "1234567.5"),
            ("12", "12"),
            ("1,5e-3", "1.5e-3"),
        ] {
            assert_eq!(plain(text, ".", b',').as_deref(), Some(number));
        }
        for bad in [
            "",
            "-",
            "1.23",
            "1.2345",
            "1234.567",
            "0.123",
            ".123",
            "1..234",
            "1.234.",
            "1,",
            ",5",
            "1,234,567",
            "+1",
            "01",
            "1e",
            " 1",
        ] {
            assert_eq!(plain(bad, ".", b','), None, "{bad}");
        }
        assert_eq!(plain("1\u{202f}234,5", "\u{202f}", b',').as_deref(), Some("1234.5"));
        assert_eq!(plain("1.5", "", b','), None);
        assert_eq!(plain("1.5", "", b'.').as_deref(), Some("1.5"));
    }

    #[test]
    fn words_for_infinities() {
        for word in ["inf", "+Inf", "INFINITY", "Infinity"] {
            assert_eq!(non_finite(word.as_bytes()), Ok(f64::INFINITY), "{word}");
        }
        assert_eq!(non_finite(b"-INF"), Ok(f64::NEG_INFINITY));
        assert!(non_finite(b"NaN").is_ok_and(f64::is_nan));
        for bad in ["", "-", "-nan", "infinit", "+-inf", "1"] {
            assert!(non_finite(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
