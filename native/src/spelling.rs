//! The spelling of values in JSON texts, as kafka2hive/decode/values/json_spelling.py has it.

use crate::cursor::{Doubt, Parsed};
use std::io::Write;
use std::ops::Range;

const DAY_NANOS: i128 = 86_400_000_000_000;
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;

/// Appends a text as a JSON string with no more escapes than JSON requires.
pub fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        if !matches!(byte, 0..=0x1f | b'"' | b'\\') {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x8 => out.extend_from_slice(b"\\b"),
            0xc => out.extend_from_slice(b"\\f"),
            other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

/// Appends a whole number.
pub fn whole(number: i128, out: &mut Vec<u8>) {
    let written = match i64::try_from(number) {
        Ok(short) => write!(out, "{short}"),
        Err(_) => write!(out, "{number}"),
    };
    debug_assert!(written.is_ok()); // a vector takes any number of bytes
}

/// Appends bytes as a JSON string of base64.
pub fn octets(data: &[u8], out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    for group in data.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 0x3f) as usize];
            out.push(if place > group.len() { b'=' } else { letter });
        }
    }
    out.push(b'"');
}

/// Appends a double with the fewest digits that are read back as the same number.
pub fn double(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        lay_out(&format!("{number:e}"), out);
    } else {
        not_finite(number, out);
    }
}

/// Appends a float with the fewest digits that are read back as the same float.
pub fn float(number: f32, out: &mut Vec<u8>) {
    if number.is_finite() {
        lay_out(&format!("{number:e}"), out);
    } else {
        not_finite(f64::from(number), out);
    }
}

fn not_finite(number: f64, out: &mut Vec<u8>) {
    let word: &[u8] = match number {
        _ if number.is_nan() => b"\"NaN\"",
        _ if number > 0.0 => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    };
    out.extend_from_slice(word);
}

/// Appends a number in Rust's scientific notation as Python writes it.
fn lay_out(scientific: &str, out: &mut Vec<u8>) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let unsigned = match mantissa.strip_prefix('-') {
        Some(unsigned) => {
            out.push(b'-');
            unsigned
        }
        None => mantissa,
    };
    let digits: Vec<u8> = unsigned.bytes().filter(u8::is_ascii_digit).collect();
    let point = exponent + 1;
    if !(-3..=16).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        out.push(if exponent < 0 { b'-' } else { b'+' });
        out.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(&digits);
    } else {
        let point = point as usize;
        out.extend((0..point).map(|at| digits.get(at).copied().unwrap_or(b'0')));
        out.push(b'.');
        if digits.len() > point {
            out.extend_from_slice(&digits[point..]);
        } else {
            out.push(b'0');
        }
    }
}

/// Appends unscaled / 10^scale with all digits of its scale.
pub fn decimal(unscaled: i128, scale: u32, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let digits = unscaled.unsigned_abs().to_string().into_bytes();
    let scale = scale as usize;
    if scale == 0 {
        out.extend_from_slice(&digits);
        return;
    }
    let before = digits.len().saturating_sub(scale);
    if before == 0 {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[..before]);
    out.push(b'.');
    out.resize(out.len() + scale.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(&digits[before..]);
}

/// Appends a day since 1970 as a JSON string; Doubt outside the years 1 to 9999.
pub fn day(days: i64, out: &mut Vec<u8>) -> Parsed<()> {
    out.push(b'"');
    date(days, out)?;
    out.push(b'"');
    Ok(())
}

/// Appends a time of day as a JSON string; Doubt beyond a day.
pub fn clock(nanos: i128, out: &mut Vec<u8>) -> Parsed<()> {
    if !(0..DAY_NANOS).contains(&nanos) {
        return Err(Doubt);
    }
    out.push(b'"');
    time(nanos as i64, out);
    out.push(b'"');
    Ok(())
}

/// Appends a time since 1970 as a JSON string, an instant in UTC; Doubt outside the years 1 to 9999.
pub fn moment(nanos: i128, instant: bool, out: &mut Vec<u8>) -> Parsed<()> {
    out.push(b'"');
    date(i64::try_from(nanos.div_euclid(DAY_NANOS)).map_err(|_| Doubt)?, out)?;
    out.push(b'T');
    time(nanos.rem_euclid(DAY_NANOS) as i64, out);
    if instant {
        out.push(b'Z');
    }
    out.push(b'"');
    Ok(())
}

/// Appends a point and the nanoseconds of a second in 3, 6 or 9 digits, as few as are exact; nothing for 0.
pub fn fraction(nanos: i64, out: &mut Vec<u8>) {
    if nanos == 0 {
        return;
    }
    let digits = if nanos % 1_000_000 == 0 {
        3
    } else if nanos % 1000 == 0 {
        6
    } else {
        9
    };
    out.extend_from_slice(&format!(".{nanos:09}").as_bytes()[..=digits]);
}

fn date(days: i64, out: &mut Vec<u8>) -> Parsed<()> {
    if !(FIRST_DAY..=LAST_DAY).contains(&days) {
        return Err(Doubt);
    }
    // years that begin in March, so that the leap day is the last day; eras of 400 years
    let shifted = days + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + shifted.div_euclid(146_097) * 400 + i64::from(month <= 2);
    two(year / 100, out);
    two(year % 100, out);
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
    Ok(())
}

fn time(nanos: i64, out: &mut Vec<u8>) {
    let seconds = nanos / 1_000_000_000;
    two(seconds / 3600, out);
    out.push(b':');
    two(seconds / 60 % 60, out);
    out.push(b':');
    two(seconds % 60, out);
    fraction(nanos % 1_000_000_000, out);
}

fn two(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
}

/// The members of an object while they are written: where the key of each, in quotes, and the whole of each is.
#[derive(Default)]
pub struct Members(Vec<(Range<usize>, Range<usize>)>);

impl Members {
    /// Notes a member that begins at `start`, whose key ends at `key` and whose value ends at the end of `out`.
    pub fn add(&mut self, start: usize, key: usize, out: &[u8]) {
        self.0.push((start..key, start..out.len()));
    }

    /// Doubt if a key repeats.
    pub fn distinct(&self, out: &[u8]) -> Parsed<()> {
        let mut keys: Vec<&[u8]> = self.0.iter().map(|(key, _)| &out[key.clone()]).collect();
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Doubt);
        }
        Ok(())
    }

    /// Sorts the members by their keys. Doubt if a key has an escape, because escapes sort otherwise.
    pub fn sort(mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let Some(start) = self.0.first().map(|(_, text)| text.start) else { return Ok(()) };
        if self.0.iter().any(|(key, _)| out[key.clone()].contains(&b'\\')) {
            return Err(Doubt);
        }
        // without the closing quote, which would sort behind a blank
        let key = |out: &[u8], member: &(Range<usize>, Range<usize>)| out[member.0.start + 1..member.0.end - 1].to_vec();
        self.0.sort_by_cached_key(|member| key(out, member));
        let texts: Vec<&[u8]> = self.0.iter().map(|(_, text)| &out[text.clone()]).collect();
        let sorted = texts.join(&b',');
        out.truncate(start);
        out.extend_from_slice(&sorted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = vec![];
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reals_have_the_fewest_digits_in_pythons_form() {
        for (number, text) in [
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (123.25, "123.25"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(spelled(|out| double(number, out)), text);
        }
        assert_eq!(spelled(|out| float(0.1, out)), "0.1");
        assert_eq!(spelled(|out| float(16_777_216.0, out)), "16777216.0");
    }

    #[test]
    fn decimals_keep_the_digits_of_their_scale() {
        for (unscaled, scale, text) in [(150, 2, "1.50"), (-5, 3, "-0.005"), (0, 2, "0.00"), (12, 0, "12"), (123, 3, "0.123")] {
            assert_eq!(spelled(|out| decimal(unscaled, scale, out)), text);
        }
    }

    #[test]
    fn days_and_times_are_those_of_the_calendar() {
        let dated = |days| spelled(|out| day(days, out).unwrap());
        assert_eq!([dated(0), dated(FIRST_DAY), dated(LAST_DAY)], ["\"1970-01-01\"", "\"0001-01-01\"", "\"9999-12-31\""]);
        assert_eq!([dated(11_016), dated(-1)], ["\"2000-02-29\"", "\"1969-12-31\""]);
        assert!(day(LAST_DAY + 1, &mut vec![]).is_err() && day(FIRST_DAY - 1, &mut vec![]).is_err());
        let at = |nanos| spelled(|out| moment(nanos, true, out).unwrap());
        assert_eq!(at(-1), "\"1969-12-31T23:59:59.999999999Z\"");
        assert_eq!(at(1_500_000_000), "\"1970-01-01T00:00:01.500Z\"");
        assert!(clock(DAY_NANOS, &mut vec![]).is_err() && clock(-1, &mut vec![]).is_err());
    }

    #[test]
    fn bytes_are_base64() {
        for (data, text) in [(&b""[..], "\"\""), (b"hallo", "\"aGFsbG8=\""), (b"hal", "\"aGFs\""), (b"\0", "\"AA==\"")] {
            assert_eq!(spelled(|out| octets(data, out)), text);
        }
    }
}
