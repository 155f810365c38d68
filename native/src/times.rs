//! Dates and timestamps as texts, by the acceptance table.

use crate::cursor::{Cursor, Doubt, Parsed};

/// A day in microseconds.
pub const DAY: i64 = 86_400_000_000;
/// 0001-01-01T00:00:00 in microseconds since 1970.
pub const EARLIEST: i64 = -62_135_596_800_000_000;
/// 9999-12-31T23:59:59.999999 in microseconds since 1970.
pub const LATEST: i64 = 253_402_300_799_999_999;

/// Returns the days since 1970 of a text `YYYY-MM-DD`, years 1 to 9999.
pub fn date(text: &[u8]) -> Parsed<i32> {
    day(text.try_into().map_err(|_| Doubt)?)
}

/// Returns the microseconds since 1970 of a text, and whether it is an instant (with an offset) or a wall clock.
///
/// An instant may lie a day outside the years 1 to 9999.
pub fn timestamp(text: &[u8]) -> Parsed<(i64, bool)> {
    let day = i64::from(day(text.get(..10).ok_or(Doubt)?.try_into().map_err(|_| Doubt)?)?);
    let mut rest = Cursor { text, at: 10 };
    if !matches!(rest.bump(), b'T' | b' ') {
        return Err(Doubt);
    }
    let hour = rest.up_to(23)?;
    rest.expect(b':')?;
    let mut seconds = hour * 3600 + rest.up_to(59)? * 60;
    let mut micros = 0;
    if rest.eat(b':') {
        seconds += rest.up_to(59)?;
        if rest.eat(b'.') {
            micros = rest.fraction()?;
        }
    }
    let zoned = match rest.bump() {
        0 if rest.at == text.len() + 1 => return Ok((day * DAY + seconds * 1_000_000 + micros, false)),
        b'Z' => 0,
        sign @ (b'+' | b'-') => {
            let mut offset = rest.up_to(23)? * 3600;
            if rest.at < text.len() {
                rest.eat(b':');
                offset += rest.up_to(59)? * 60;
            }
            if sign == b'-' {
                offset
            } else {
                -offset
            }
        }
        _ => return Err(Doubt),
    };
    if rest.at != text.len() {
        return Err(Doubt);
    }
    Ok((day * DAY + (seconds + zoned) * 1_000_000 + micros, true))
}

impl Cursor<'_> {
    /// Reads a number of two digits, at most `most`.
    #[inline(always)]
    fn up_to(&mut self, most: i64) -> Parsed<i64> {
        let digits = self.bytes(self.at).ok_or(Doubt)?;
        self.at += 2;
        two_digits(digits, most)
    }

    /// Reads the digits after a point, at least one. Returns microseconds; digits after the sixth must be zeros.
    fn fraction(&mut self) -> Parsed<i64> {
        let before = self.at;
        let mut micros = 0;
        let mut unit = 100_000;
        while self.peek().is_ascii_digit() {
            let digit = i64::from(self.bump() - b'0');
            if unit == 0 && digit != 0 {
                return Err(Doubt);
            }
            micros += digit * unit;
            unit /= 10;
        }
        if self.at == before {
            return Err(Doubt);
        }
        Ok(micros)
    }
}

/// Returns the number of two digits, at most `most`.
#[inline(always)]
fn two_digits(digits: [u8; 2], most: i64) -> Parsed<i64> {
    let [tens, ones] = digits.map(|digit| digit.wrapping_sub(b'0'));
    let number = i64::from(tens) * 10 + i64::from(ones);
    if tens > 9 || ones > 9 || number > most {
        return Err(Doubt);
    }
    Ok(number)
}

/// Returns the days since 1970 of ten bytes `YYYY-MM-DD`.
#[inline]
fn day(text: &[u8; 10]) -> Parsed<i32> {
    let [a, b, c, d, b'-', e, f, b'-', g, h] = *text else { return Err(Doubt) };
    let year = two_digits([a, b], 99)? * 100 + two_digits([c, d], 99)?;
    days(year, two_digits([e, f], 12)?, two_digits([g, h], 31)?).ok_or(Doubt)
}

/// Returns the days since 1970 of a day in the years 1 to 9999; None if there is no such day.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=9999).contains(&year) || !(1..=days).contains(&day) {
        return None;
    }
    // days of the proleptic Gregorian calendar, in years that begin with March
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some((365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = -719_162;
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let days = date(format!("{year:04}-{month:02}-{day:02}").as_bytes());
                    if days.is_ok() {
                        assert_eq!(days, Ok(expected));
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, 2_932_897);
        for bad in ["0000-12-31", "2013-02-29", "2013-2-3", "20130228", "2013-02-28Z", "2013-13-01", "2013-00-01", "2013-01-00"] {
            assert_eq!(date(bad.as_bytes()), Err(Doubt), "{bad}");
        }
    }

    #[test]
    fn timestamps_are_wall_clocks_or_instants() {
        let at = |text: &str| timestamp(text.as_bytes()).ok();
        assert_eq!(at("1970-01-01T00:00"), Some((0, false)));
        assert_eq!(at("1970-01-01 00:00:01.5"), Some((1_500_000, false)));
        assert_eq!(at("1970-01-01T00:00:00.000001000Z"), Some((1, true)));
        assert_eq!(at("1970-01-01T01:00:00+01:00"), Some((0, true)));
        assert_eq!(at("1970-01-01T01:30+0130"), Some((0, true)));
        assert_eq!(at("1969-12-31T23:00-01"), Some((0, true)));
        assert_eq!(at("9999-12-31T23:59:59.999999"), Some((LATEST, false)));
        assert_eq!(at("0001-01-01T00:00:00"), Some((EARLIEST, false)));
        for bad in [
            "",
            "1970-01-01",
            "1970-01-01T00",
            "1970-01-01T0000",
            "1970-01-01T24:00:00",
            "1970-01-01T00:60",
            "1970-01-01T00:00:60",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00.0000001",
            "1970-01-01T00:00:00,5",
            "1970-01-01t00:00:00",
            "1970-01-01T00:00z",
            "1970-01-01T00:00 Z",
            "1970-01-01T00:00+24",
            "1970-01-01T00:00+0",
            "1970-01-01T00:00+01:",
            "1970-01-01T00:00+01:60",
            "1970-01-01T00:00ZZ",
            "1970-01-01T00:00\0",
            "1970-01-01T00:00+01:000",
            "12013-01-01T00:00:00",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
