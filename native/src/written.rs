//! Texts of times in the forms that the map declares: patterns, ISO 8601, Jackson's arrays, and decimal numbers since 1970.
//!
//! A text has the first form that fits it, and there must be such a time; otherwise it is in doubt.

use std::collections::HashMap;

use crate::times::{days, DAY};

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A wall clock
    Wall = 1,
    /// An instant
    Instant = 2,
    /// A day without a time
    Day = 3,
}

/// Distinct names of zones in a batch; texts with more are in doubt.
const MOST_ZONES: usize = 1_000;

/// The bit of a mark for a time that is finer than a microsecond; the lower two bits are the kind.
const FINER: u8 = 4;

/// Why a text has no time in a form.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// It does not have the form, or there is no such time: the next form is tried.
    Other,
    /// It may have the form: the exact decoder reads it.
    Doubt,
}
use Fault::{Doubt, Other};

type Read<T> = Result<T, Fault>;

/// A time as a text says it.
struct Time<'a> {
    kind: Kind,
    /// Since 1970; in a zone with a name, the wall clock
    micros: i64,
    /// Whether it has a fraction of a microsecond
    finer: bool,
    /// The name of a zone other than UTC
    zone: Option<&'a [u8]>,
    /// With `zone`: the seconds of its offset from UTC that the text has, too
    offset: i64,
}

/// What the texts of a batch say.
#[derive(Default)]
pub struct Batch {
    /// For each text its microseconds since 1970; in a zone with a name, of the wall clock there
    pub micros: Vec<i64>,
    /// For each text its kind, and whether it is finer than a microsecond; 0: in doubt
    pub marks: Vec<u8>,
    /// For each text the number of its zone, -1 without one; empty if no pattern has zones. An instant's offset is certain only
    /// if the zone has it.
    pub zones: Vec<i32>,
    /// For each text with a zone the seconds of its offset
    pub offsets: Vec<i32>,
    /// By number, the names of zones
    pub names: Vec<String>,
}

/// A number in a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// yyyy
    Year,
    /// yy
    ShortYear,
    /// M
    Month,
    /// d
    Day,
    /// H: 0 to 23
    Hour,
    /// h: 1 to 12
    ClockHour,
    /// m
    Minute,
    /// s
    Second,
}

/// A part of a pattern.
pub enum Step {
    /// Bytes as they are
    Literal(Vec<u8>),
    /// Digits
    Number {
        /// What they are
        field: Field,
        /// How many there are at least
        least: usize,
        /// How many there are at most
        most: usize,
    },
    /// So many digits of a second's fraction
    Fraction {
        /// How many
        digits: usize,
    },
    /// The name of a month in English, cut to `size` letters
    Month {
        /// 3 for short names
        size: usize,
    },
    /// The name of the day of the week in English, cut to `size` letters
    Weekday {
        /// 3 for short names
        size: usize,
    },
    /// AM or PM
    Half,
    /// An offset from UTC
    Offset {
        /// Z is UTC
        z: bool,
        /// There is a colon before the minutes
        colon: bool,
        /// There are always minutes
        minutes: bool,
    },
    /// The name of a zone
    Zone,
}

/// A form of texts.
pub enum Form {
    /// ISO 8601: a day, or a time with or without an offset
    Iso,
    /// [year, month, day, hour, minute, second, nanosecond], without white space
    Array,
    /// A JSON number of a unit since 1970: microseconds are number * factor / divisor
    Number {
        /// Microseconds in a unit, if it is at least one long
        factor: i128,
        /// Units in a microsecond, if it is shorter
        divisor: i128,
    },
    /// A pattern; `pivot`: the first year of two digits
    Steps {
        /// The first of a hundred years
        pivot: i64,
        /// The parts in order
        steps: Vec<Step>,
    },
}

/// Reads texts of one column.
pub struct Times {
    forms: Vec<Form>,
}

impl Times {
    /// `forms`: in the order in which they are tried.
    pub fn new(forms: Vec<Form>) -> Self {
        Times { forms }
    }

    /// Reads the texts of a batch.
    pub fn read(&mut self, offsets: &[i32], data: &[u8]) -> Batch {
        let has_zones = self.forms.iter().any(Form::has_zone);
        let mut batch = Batch { micros: Vec::with_capacity(offsets.len()), ..Batch::default() };
        batch.marks.reserve(offsets.len());
        let (mut numbers, mut last) = (HashMap::new(), (b"".as_slice(), -1));
        for pair in offsets.windows(2) {
            let mut time = self.time(&data[pair[0] as usize..pair[1] as usize]);
            if let Some(name) = time.as_ref().and_then(|time| time.zone) {
                if name != last.0 {
                    last = (name, number_of(name, &mut numbers, &mut batch.names));
                }
                if last.1 < 0 {
                    time = None;
                }
            }
            let (micros, mark) = time.as_ref().map_or((0, 0), |time| (time.micros, mark(time.kind, time.finer)));
            batch.micros.push(micros);
            batch.marks.push(mark);
            if has_zones {
                let of_zone = time.filter(|time| time.zone.is_some());
                batch.zones.push(of_zone.as_ref().map_or(-1, |_| last.1));
                batch.offsets.push(of_zone.map_or(0, |time| time.offset as i32));
            }
        }
        batch
    }

    fn time<'a>(&self, text: &'a [u8]) -> Option<Time<'a>> {
        for form in &self.forms {
            match form.read(text) {
                Ok(time) => return Some(time),
                Err(Other) => {}
                Err(Doubt) => return None,
            }
        }
        None
    }
}

/// Returns the number of a zone, -1 beyond the limit.
fn number_of<'a>(name: &'a [u8], numbers: &mut HashMap<&'a [u8], i32>, names: &mut Vec<String>) -> i32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    if names.len() == MOST_ZONES {
        return -1;
    }
    let number = names.len() as i32;
    numbers.insert(name, number);
    names.push(String::from_utf8_lossy(name).into_owned());
    number
}

fn mark(kind: Kind, finer: bool) -> u8 {
    kind as u8 | if finer { FINER } else { 0 }
}

impl Form {
    fn has_zone(&self) -> bool {
        matches!(self, Form::Steps { steps, .. } if steps.iter().any(|step| matches!(step, Step::Zone)))
    }

    fn read<'a>(&self, text: &'a [u8]) -> Read<Time<'a>> {
        let mut scan = Scan { text, at: 0 };
        match self {
            Form::Iso => iso(&mut scan),
            Form::Array => array(&mut scan),
            Form::Number { factor, divisor } => number(&mut scan, *factor, *divisor),
            Form::Steps { pivot, steps } => {
                let mut fields = Fields::default();
                for step in steps {
                    fields.take(&mut scan, step, *pivot)?;
                }
                scan.end()?;
                fields.time()
            }
        }
    }
}

/// A position in a text.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let is_next = self.at < self.text.len() && self.peek() == wanted;
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, wanted: u8) -> Read<()> {
        self.eat(wanted).then_some(()).ok_or(Other)
    }

    fn end(&self) -> Read<()> {
        (self.at == self.text.len()).then_some(()).ok_or(Other)
    }

    /// Reads at least `least` and at most `most` digits, of which there are no more than 18.
    #[inline(always)]
    fn digits(&mut self, least: usize, most: usize) -> Read<i64> {
        if least == most {
            return self.so_many_digits(most);
        }
        let start = self.at;
        let mut number = 0;
        while self.at - start < most && self.peek().is_ascii_digit() {
            number = number * 10 + i64::from(self.peek() - b'0');
            self.at += 1;
        }
        if self.at - start < least {
            return Err(Other);
        }
        Ok(number)
    }

    #[inline(always)]
    fn so_many_digits(&mut self, size: usize) -> Read<i64> {
        let mut number = 0;
        for byte in self.text.get(self.at..self.at + size).ok_or(Other)? {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Err(Other);
            }
            number = number * 10 + i64::from(digit);
        }
        self.at += size;
        Ok(number)
    }

    #[inline(always)]
    fn two(&mut self, most: i64) -> Read<i64> {
        at_most(self.digits(2, 2)?, most)
    }

    /// Reads digits of a second's fraction. Returns microseconds, and whether there are digits beyond them.
    fn fraction(&mut self, least: usize, most: usize) -> Read<(i64, bool)> {
        let (start, mut unit, mut micros, mut finer) = (self.at, 100_000, 0, false);
        while self.at - start < most && self.peek().is_ascii_digit() {
            let digit = i64::from(self.peek() - b'0');
            micros += digit * unit;
            finer |= unit == 0 && digit != 0;
            unit /= 10;
            self.at += 1;
        }
        if self.at - start < least {
            return Err(Other);
        }
        Ok((micros, finer))
    }

    /// Reads one of the names, of which the first `size` letters count, in any case. Returns its number from 1.
    fn name(&mut self, names: &[&str], size: usize) -> Read<i64> {
        for (number, name) in names.iter().enumerate() {
            let name = &name.as_bytes()[..name.len().min(size)];
            if self.text.get(self.at..self.at + name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name)) {
                self.at += name.len();
                return Ok(number as i64 + 1);
            }
        }
        Err(Other)
    }

    /// Reads an offset from UTC, in seconds.
    fn offset(&mut self, z: bool, colon: bool, minutes: bool) -> Read<i64> {
        if z && self.eat(b'Z') {
            return Ok(0);
        }
        let sign = match self.peek() {
            b'+' => 1,
            b'-' => -1,
            _ => return Err(Other),
        };
        self.at += 1;
        let mut seconds = self.two(23)? * 3600;
        if colon {
            self.expect(b':')?;
        }
        if minutes || colon || self.peek().is_ascii_digit() {
            seconds += self.two(59)? * 60;
        }
        Ok(sign * seconds)
    }
}

fn at_most(number: i64, most: i64) -> Read<i64> {
    if number > most {
        return Err(Other);
    }
    Ok(number)
}

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The fields that a text has.
#[derive(Default)]
struct Fields<'a> {
    year: i64,
    month: i64,
    day: i64,
    has_time: bool,
    hour: i64,
    seconds: i64,
    micros: i64,
    finer: bool,
    half: Option<i64>,
    of_clock: bool,
    weekday: Option<i64>,
    offset: Option<i64>,
    zone: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    #[inline(always)]
    fn take(&mut self, scan: &mut Scan<'a>, step: &Step, pivot: i64) -> Read<()> {
        match step {
            Step::Literal(bytes) => {
                if let [byte] = bytes[..] {
                    return scan.expect(byte);
                }
                if scan.text.get(scan.at..scan.at + bytes.len()) != Some(bytes) {
                    return Err(Other);
                }
                scan.at += bytes.len();
            }
            Step::Number { field, least, most } => {
                let number = scan.digits(*least, *most)?;
                match field {
                    Field::Year => self.year = number,
                    Field::ShortYear => self.year = pivot + (number - pivot).rem_euclid(100),
                    Field::Month => self.month = number,
                    Field::Day => self.day = number,
                    Field::Hour | Field::ClockHour => {
                        self.has_time = true;
                        self.of_clock = *field == Field::ClockHour;
                        self.hour = at_most(number, if self.of_clock { 12 } else { 23 })?;
                    }
                    Field::Minute => self.seconds += at_most(number, 59)? * 60,
                    Field::Second => self.seconds += at_most(number, 59)?,
                }
            }
            Step::Fraction { digits } => (self.micros, self.finer) = scan.fraction(*digits, *digits)?,
            Step::Month { size } => self.month = scan.name(&MONTHS, *size)?,
            Step::Weekday { size } => self.weekday = Some(scan.name(&WEEKDAYS, *size)?),
            Step::Half => self.half = Some(scan.name(&["AM", "PM"], 2)? - 1),
            Step::Offset { z, colon, minutes } => self.offset = Some(scan.offset(*z, *colon, *minutes)?),
            Step::Zone => self.zone(scan)?,
        }
        Ok(())
    }

    /// Reads the name of a zone.
    fn zone(&mut self, scan: &mut Scan<'a>) -> Read<()> {
        let rest = &scan.text[scan.at..];
        let size = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_+/-".contains(byte)).count();
        if !scan.peek().is_ascii_alphabetic() {
            return Err(Other);
        }
        self.zone = Some(&rest[..size]);
        scan.at += size;
        Ok(())
    }

    fn time(self) -> Read<Time<'a>> {
        let day = i64::from(days(self.year, self.month, self.day).ok_or(Other)?);
        if self.weekday.is_some_and(|weekday| weekday != (day + 3).rem_euclid(7) + 1) {
            return Err(Other);
        }
        if !self.has_time {
            return Ok(Time { kind: Kind::Day, micros: day * DAY, finer: false, zone: None, offset: 0 });
        }
        let hour = match (self.of_clock, self.half) {
            (false, None) => self.hour,
            (true, Some(half)) if self.hour > 0 => self.hour % 12 + 12 * half,
            _ => return Err(Other),
        };
        let wall = day * DAY + (hour * 3600 + self.seconds) * 1_000_000 + self.micros;
        let instant = wall - self.offset.unwrap_or(0) * 1_000_000;
        let (kind, micros, zone) = match (self.offset, self.zone) {
            (None, None) => (Kind::Wall, wall, None),
            (Some(_), None) | (None | Some(0), Some(b"UTC" | b"GMT" | b"Z")) => (Kind::Instant, instant, None),
            (Some(_), Some(b"UTC" | b"GMT" | b"Z")) => return Err(Doubt),
            (None, zone) => (Kind::Wall, wall, zone),
            (Some(_), zone) => (Kind::Instant, wall, zone),
        };
        Ok(Time { kind, micros, finer: self.finer, zone, offset: self.offset.unwrap_or(0) })
    }
}

fn iso<'a>(scan: &mut Scan<'a>) -> Read<Time<'a>> {
    let mut fields = Fields { year: scan.digits(4, 4)?, ..Fields::default() };
    scan.expect(b'-')?;
    fields.month = scan.digits(2, 2)?;
    scan.expect(b'-')?;
    fields.day = scan.digits(2, 2)?;
    if scan.at < scan.text.len() {
        if !scan.eat(b'T') {
            scan.expect(b' ')?;
        }
        fields.has_time = true;
        fields.hour = scan.two(23)?;
        scan.expect(b':')?;
        fields.seconds = scan.two(59)? * 60;
        if scan.eat(b':') {
            fields.seconds += scan.two(59)?;
            if scan.eat(b'.') {
                (fields.micros, fields.finer) = scan.fraction(1, usize::MAX)?;
            }
        }
        if scan.at < scan.text.len() {
            let colon = scan.text.get(scan.at + 3) == Some(&b':');
            fields.offset = Some(scan.offset(true, colon, false)?);
        }
    }
    scan.end()?;
    fields.time()
}

fn array<'a>(scan: &mut Scan<'a>) -> Read<Time<'a>> {
    scan.expect(b'[')?;
    if scan.text.iter().any(|byte| *byte <= b' ') {
        return Err(Doubt);
    }
    let mut numbers = [0; 7];
    let mut count = 0;
    loop {
        let start = scan.at;
        let number = scan.digits(1, 10)?;
        if count == 7 || (scan.at - start > 1 && scan.text[start] == b'0') {
            return Err(Other);
        }
        numbers[count] = number;
        count += 1;
        if !scan.eat(b',') {
            break;
        }
    }
    scan.expect(b']')?;
    scan.end()?;
    if count < 3 || count == 4 {
        return Err(Other);
    }
    let [year, month, day, hour, minute, second, nanos] = numbers;
    let nanos = at_most(nanos, 999_999_999)?;
    let seconds = at_most(minute, 59)? * 60 + at_most(second, 59)?;
    let (has_time, hour) = (count > 3, at_most(hour, 23)?);
    Fields { year, month, day, has_time, hour, seconds, micros: nanos / 1_000, finer: nanos % 1_000 != 0, ..Fields::default() }
        .time()
}

fn number<'a>(scan: &mut Scan<'a>, factor: i128, divisor: i128) -> Read<Time<'a>> {
    let negative = scan.eat(b'-');
    let start = scan.at;
    let mut number = i128::from(scan.digits(1, 18)?);
    if scan.at - start > 1 && scan.text[start] == b'0' {
        return Err(Doubt);
    }
    let mut power = 0;
    if scan.eat(b'.') {
        let before = scan.at;
        let fraction = i128::from(scan.digits(1, 18)?);
        let size = scan.at - before;
        number = number * 10_i128.pow(size as u32) + fraction;
        power = -(size as i64);
    }
    if scan.eat(b'e') || scan.eat(b'E') {
        let minus = scan.eat(b'-');
        if !minus {
            scan.eat(b'+');
        }
        let exponent = scan.digits(1, 3)?;
        power += if minus { -exponent } else { exponent };
    }
    scan.end().map_err(|_| Doubt)?;
    let number = if negative { -number } else { number }.checked_mul(factor).ok_or(Doubt)?;
    let (scaled, by) = match power {
        0..=12 => (number.checked_mul(10_i128.pow(power as u32)).ok_or(Doubt)?, divisor),
        -30..=-1 => (number, divisor * 10_i128.pow(power.unsigned_abs() as u32)),
        _ => return Err(Doubt),
    };
    let micros = i64::try_from(scaled.div_euclid(by)).map_err(|_| Doubt)?;
    Ok(Time { kind: Kind::Instant, micros, finer: scaled.rem_euclid(by) != 0, zone: None, offset: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(form: Form, texts: &[&str]) -> Vec<(i64, u8)> {
        let mut offsets = vec![0];
        for text in texts {
            offsets.push(offsets[offsets.len() - 1] + text.len() as i32);
        }
        let batch = Times::new(vec![form]).read(&offsets, texts.concat().as_bytes());
        batch.micros.into_iter().zip(batch.marks).collect()
    }

    #[test]
    fn numbers_are_exact_to_the_microsecond() {
        let form = Form::Number { factor: 1_000_000, divisor: 1 };
        let texts = ["1700000000.123", "1.700000000123E9", "-0.0000001", "0", "01", "1.", "1e", "1e99", ".5", "1.5x"];
        let time = 1_700_000_000_123_000;
        let rest = [(0, 0); 6];
        assert_eq!(marks(form, &texts), [&[(time, 2), (time, 2), (-1, 6), (0, 2)], &rest[..]].concat());
    }

    #[test]
    fn arrays_have_three_numbers_or_five_to_seven() {
        let texts = [
            "[1970,1,2]",
            "[1970,1,1,0,1]",
            "[1970,1,1,0,0,1,1500]",
            "[1970,1,1,0]",
            "[1970,1]",
            "[1970,01,1]",
            "[1970,1,1,0,0,0,0,0]",
        ];
        let none = (0, 0);
        assert_eq!(marks(Form::Array, &texts), [(DAY, 3), (60_000_000, 1), (1_000_001, 5), none, none, none, none]);
    }

    #[test]
    fn zones_have_numbers_in_the_order_of_their_names() {
        let steps = || {
            vec![
                Step::Number { field: Field::Year, least: 4, most: 4 },
                Step::Number { field: Field::Month, least: 2, most: 2 },
                Step::Number { field: Field::Day, least: 2, most: 2 },
                Step::Number { field: Field::Hour, least: 2, most: 2 },
                Step::Zone,
            ]
        };
        let texts = ["1970010101UTC", "1970010101Europe/Berlin", "1970010101Asia/Tokyo", "1970010101Europe/Berlin", "x"];
        let mut offsets = vec![0];
        for text in texts {
            offsets.push(offsets[offsets.len() - 1] + text.len() as i32);
        }
        let form = Form::Steps { pivot: 0, steps: steps() };
        let batch = Times::new(vec![form]).read(&offsets, texts.concat().as_bytes());
        assert_eq!(batch.zones, [-1, 0, 1, 0, -1]);
        assert_eq!(batch.marks, [2, 1, 1, 1, 0]);
        assert_eq!(batch.names, ["Europe/Berlin", "Asia/Tokyo"]);
        let many: Vec<String> = (0..MOST_ZONES + 5).map(|zone| format!("1970010101Z{zone:04}")).collect();
        let offsets: Vec<i32> = (0..=many.len() as i32).map(|at| at * 15).collect();
        let form = Form::Steps { pivot: 0, steps: steps() };
        let batch = Times::new(vec![form]).read(&offsets, many.concat().as_bytes());
        assert_eq!(batch.names.len(), MOST_ZONES);
        assert_eq!(batch.marks[MOST_ZONES - 1..=MOST_ZONES], [1, 0]);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        let number = |field| Step::Number { field, least: 1, most: 2 };
        let mut state: u64 = 7;
        let mut dice = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let steps = vec![
            Step::Number { field: Field::Year, least: 4, most: 4 },
            Step::Month { size: 9 },
            number(Field::Day),
            Step::Literal(b" ".to_vec()),
            number(Field::ClockHour),
            Step::Half,
            Step::Offset { z: true, colon: false, minutes: false },
            Step::Zone,
        ];
        let forms = || vec![Form::Iso, Form::Array, Form::Number { factor: 1, divisor: 1_000 }];
        let mut times = Times::new(forms().into_iter().chain([Form::Steps { pivot: 0, steps }]).collect());
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..dice(30)).map(|_| b"0123456789-+:. TZ[],eEMayGMT\xe9"[dice(29)]).collect();
            times.read(&[0, text.len() as i32], &text);
        }
    }
}
