//! JSON's numbers as integers, as the nearest floats, and as decimals that are never rounded.

use crate::cursor::{Cursor, Doubt, Parsed};

/// The number of digits that always fit into a u64.
const MOST_DIGITS: u32 = 19;
/// Larger exponents are treated as infinite.
const FAR: i32 = 100_000;

/// A number that matches JSON's grammar: `mantissa * 10^exponent` if `complete`, otherwise its text from `start` on.
pub struct Number {
    negative: bool,
    /// It has neither a fraction nor an exponent
    whole: bool,
    complete: bool,
    mantissa: u64,
    exponent: i32,
    start: usize,
}

/// Powers of ten for up to eight digits.
const TENS: [u64; 16] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 0, 0, 0, 0, 0, 0, 0];

/// Returns the number of digits with which a word begins.
#[inline(always)]
fn leading_digits(word: u64) -> u32 {
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // a digit has 3 in its upper half, also after 6 is added; a carry reaches only bytes behind one that is no digit
    let uppers = (word & HIGH) | (word.wrapping_add(0x0606_0606_0606_0606) & HIGH) >> 4;
    (uppers ^ 0x3333_3333_3333_3333).trailing_zeros() / 8
}

/// Returns the number in a word's first `count` bytes, which are digits.
#[inline(always)]
fn number_of(word: u64, count: u32) -> u64 {
    // as if zeros came before them, so that there are eight digits
    eight_digits(if count == 8 { word } else { word << (56 - 8 * count) << 8 })
}

#[inline(always)]
fn eight_digits(word: u64) -> u64 {
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = digits.wrapping_mul(10 * 0x100 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 0x1_0000 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * 0x1_0000_0000 + 1) >> 32
}

impl<'a> Cursor<'a> {
    /// Reads at most `most` digits and appends them to `number`. Returns how many, and the number.
    #[inline(always)]
    fn digits(&mut self, mut number: u64, most: u32) -> (u32, u64) {
        let mut count = 0;
        while most - count >= 8 {
            let Some(word) = self.word(self.at) else { break };
            let some = leading_digits(word);
            number = number * TENS[some as usize & 15] + number_of(word, some);
            count += some;
            self.at += some as usize;
            if some < 8 {
                return (count, number);
            }
        }
        while count < most {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number * 10 + u64::from(digit);
            count += 1;
            self.at += 1;
        }
        (count, number)
    }

    /// Reads an integer of at most seven digits; None, without moving, if there is none or it is near the message's end.
    #[inline(always)]
    pub fn short_integer(&mut self) -> Option<i64> {
        let word = self.word(self.at)?;
        let negative = word as u8 == b'-';
        let word = word >> (8 * u32::from(negative));
        let count = leading_digits(word);
        let size = count + u32::from(negative);
        // one of the eight bytes must be the end of the digits
        if count == 0 || size > 7 || (word as u8 == b'0' && count > 1) {
            return None;
        }
        let digits = word << (56 - 8 * count) << 8;
        let number = eight_digits(digits) as i64;
        self.at += size as usize;
        Some(if negative { -number } else { number })
    }

    /// Reads an integer between `-limit` and `limit - 1`.
    ///
    /// The caller checks what follows: a digit, a point or an exponent may not follow a value.
    #[inline(always)]
    pub fn integer(&mut self, limit: u64) -> Parsed<i64> {
        let negative = self.eat(b'-');
        let zero = self.peek() == b'0';
        let (count, number) = self.digits(0, MOST_DIGITS);
        if count == 0 || (zero && count > 1) || number > limit || (number == limit && !negative) {
            return Err(Doubt);
        }
        Ok(if negative { (number as i64).wrapping_neg() } else { number as i64 })
    }

    /// Reads any number of JSON's grammar.
    #[inline]
    pub fn number(&mut self) -> Parsed<Number> {
        let start = self.at;
        let negative = self.eat(b'-');
        let mut mantissa = 0;
        let mut room = MOST_DIGITS;
        let mut complete = true;
        if !self.eat(b'0') {
            let (count, number) = self.digits(0, MOST_DIGITS);
            if count == 0 {
                return Err(Doubt);
            }
            mantissa = number;
            room -= count;
            complete = self.past_digits() == 0;
        }
        let mut whole = true;
        let mut exponent = 0;
        if self.eat(b'.') {
            whole = false;
            let before = self.at;
            if mantissa == 0 {
                while self.eat(b'0') {}
            }
            let zeros = self.at - before;
            let (count, number) = self.digits(mantissa, room);
            mantissa = number;
            complete &= self.past_digits() == 0;
            if self.at == before {
                return Err(Doubt);
            }
            exponent = -(i32::try_from(zeros).unwrap_or(FAR).min(FAR) + count as i32);
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            whole = false;
            let down = self.eat(b'-');
            if !down {
                self.eat(b'+');
            }
            let (count, number) = self.digits(0, MOST_DIGITS);
            if count == 0 {
                return Err(Doubt);
            }
            let far = self.past_digits() > 0 || number > FAR as u64;
            let size = if far { FAR } else { number as i32 };
            exponent += if down { -size } else { size };
            complete &= !far;
        }
        Ok(Number { negative, whole, complete, mantissa, exponent, start })
    }

    /// Moves past any number of JSON's grammar.
    #[inline]
    pub fn skip_number(&mut self) -> Parsed<()> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.some_digits()?;
        }
        if self.eat(b'.') {
            self.some_digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if !self.eat(b'-') {
                self.eat(b'+');
            }
            self.some_digits()?;
        }
        Ok(())
    }

    /// Moves past at least one digit.
    #[inline(always)]
    fn some_digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while let Some(word) = self.word(self.at) {
            let some = leading_digits(word);
            self.at += some as usize;
            if some < 8 {
                return if self.at > start { Ok(()) } else { Err(Doubt) };
            }
        }
        self.past_digits();
        if self.at > start {
            Ok(())
        } else {
            Err(Doubt)
        }
    }

    #[inline(always)]
    fn past_digits(&mut self) -> usize {
        let before = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        self.at - before
    }

    fn text_since(&self, start: usize) -> Parsed<&'a str> {
        let bytes = self.text.get(start..self.at).ok_or(Doubt)?;
        std::str::from_utf8(bytes).map_err(|_| Doubt)
    }

    /// Reads a number as decimal(precision, scale). Returns it times 10^scale.
    #[inline]
    pub fn decimal(&mut self, precision: u32, scale: u32) -> Parsed<i128> {
        let number = self.number()?;
        if number.complete {
            return scaled(number.negative, number.mantissa.into(), number.exponent, precision, scale);
        }
        decimal_of(self.text_since(number.start)?.as_bytes(), precision, scale)
    }
}

/// Declares the function that reads a float.
///
/// If the type holds the mantissa and the power of ten exactly, their product or quotient in IEEE 754 is the nearest number
/// (Clinger 1990); otherwise the standard library parses the text. `$powers`: all powers of ten that the type holds exactly.
macro_rules! nearest {
    ($name:ident, $float:ty, $exact:expr, $powers:expr) => {
        impl<'a> Cursor<'a> {
            /// Reads the nearest number of this type; Doubt for an integer that it does not hold exactly.
            #[inline]
            pub fn $name(&mut self) -> Parsed<$float> {
                const POWERS: &[$float] = $powers;
                let number = self.number()?;
                let size = number.mantissa as $float;
                let small = number.complete && number.mantissa <= $exact;
                let power = number.exponent.unsigned_abs() as usize;
                let size = if number.whole {
                    if !number.complete || size as u64 != number.mantissa {
                        return Err(Doubt);
                    }
                    size
                } else if small && power < POWERS.len() {
                    if number.exponent < 0 {
                        size / POWERS[power]
                    } else {
                        size * POWERS[power]
                    }
                } else {
                    let parsed: $float = self.text_since(number.start)?.parse().map_err(|_| Doubt)?;
                    if !parsed.is_finite() {
                        return Err(Doubt);
                    }
                    return Ok(parsed);
                };
                Ok(if number.negative { -size } else { size })
            }
        }
    };
}

nearest!(
    double,
    f64,
    1 << 53,
    &[
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22,
    ]
);
nearest!(float, f32, 1 << 24, &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10]);

/// Reads a decimal in the forms that strings may have, including `+1.5`, `007`, `.5`, `5.` and `1e2`.
pub fn decimal_of(text: &[u8], precision: u32, scale: u32) -> Parsed<i128> {
    let mut cursor = Cursor::new(text);
    let negative = cursor.eat(b'-');
    if !negative {
        cursor.eat(b'+');
    }
    let mut mantissa: u128 = 0;
    let mut digits = 0;
    let mut point = None;
    loop {
        match cursor.peek() {
            digit @ b'0'..=b'9' => {
                mantissa = mantissa.checked_mul(10).ok_or(Doubt)?;
                mantissa = mantissa.checked_add(u128::from(digit - b'0')).ok_or(Doubt)?;
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => break,
        }
        cursor.at += 1;
    }
    if digits == 0 || digits > FAR {
        return Err(Doubt);
    }
    let mut exponent = point.map_or(0, |before| before - digits);
    if matches!(cursor.peek(), b'e' | b'E') {
        cursor.at += 1;
        let down = cursor.eat(b'-');
        if !down {
            cursor.eat(b'+');
        }
        let (count, number) = cursor.digits(0, 6);
        if count == 0 {
            return Err(Doubt);
        }
        exponent += if down { -(number as i32) } else { number as i32 };
    }
    if cursor.at != text.len() {
        return Err(Doubt);
    }
    scaled(negative, mantissa, exponent, precision, scale)
}

/// Returns a big-endian number. Bytes before the last 16 may only repeat its sign.
pub(crate) fn unscaled(bytes: &[u8]) -> Parsed<i128> {
    let negative = bytes.first().ok_or(Doubt)? & 0x80 != 0;
    let sign = if negative { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    if head.iter().any(|byte| *byte != sign) || tail[0] & 0x80 != sign & 0x80 {
        return Err(Doubt);
    }
    Ok(tail.iter().fold(if negative { -1 } else { 0 }, |number, byte| number << 8 | i128::from(*byte)))
}

/// Returns a big-endian number times 10^exponent as an unscaled decimal.
pub fn decimal_of_octets(octets: &[u8], exponent: i32, precision: u32, scale: u32) -> Parsed<i128> {
    let number = unscaled(octets)?;
    scaled(number < 0, number.unsigned_abs(), exponent, precision, scale)
}

/// Returns the number times 10^scale; Doubt if that is no integer, or has more than `precision` digits (at most 38).
#[inline]
fn scaled(negative: bool, mantissa: u128, exponent: i32, precision: u32, scale: u32) -> Parsed<i128> {
    if mantissa == 0 {
        return Ok(0);
    }
    let shift = exponent + scale as i32;
    let power = power_of_ten(shift.unsigned_abs())?;
    let size = if shift >= 0 {
        mantissa.checked_mul(power).ok_or(Doubt)?
    } else if let (Ok(mantissa), Ok(power)) = (u64::try_from(mantissa), u64::try_from(power)) {
        if mantissa % power != 0 {
            return Err(Doubt);
        }
        (mantissa / power).into()
    } else if mantissa % power == 0 {
        mantissa / power
    } else {
        return Err(Doubt);
    };
    if size >= power_of_ten(precision)? {
        return Err(Doubt);
    }
    let size = size as i128; // below 10^38
    Ok(if negative { -size } else { size })
}

#[inline(always)]
fn power_of_ten(exponent: u32) -> Parsed<u128> {
    const POWERS: [u128; 39] = {
        let mut powers = [1; 39];
        let mut i = 1;
        while i < 39 {
            powers[i] = powers[i - 1] * 10;
            i += 1;
        }
        powers
    };
    POWERS.get(exponent as usize).copied().ok_or(Doubt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<T>(text: &str, parse: impl Fn(&mut Cursor) -> Parsed<T>) -> Option<T> {
        let mut cursor = Cursor::new(text.as_bytes());
        let value = parse(&mut cursor).ok()?;
        (cursor.at == text.len()).then_some(value)
    }

    #[test]
    fn digits_end_at_every_place_of_a_word() {
        for count in 0..=8 {
            for byte in 0..=255_u8 {
                let mut word = *b"12345678";
                if count < 8 {
                    word[count] = byte;
                    if byte.is_ascii_digit() {
                        continue;
                    }
                }
                let number = (1..=count as u64).fold(0, |number, digit| number * 10 + digit);
                let word = u64::from_le_bytes(word);
                assert_eq!(leading_digits(word), count as u32, "{byte} at {count}");
                assert_eq!(number_of(word, count as u32), number);
            }
        }
    }

    #[test]
    fn short_integers_are_those_of_every_reader() {
        let sizes = (0..=20)
            .flat_map(|size| ["1234567890123456789012", "9999999999999999999999", "0123"].map(|all| &all[..size.min(all.len())]));
        for digits in sizes {
            for sign in ["", "-", "--", "+"] {
                for behind in ["", ",", "}          ", ",\"a\":1,\"b\":2", ".5                ", "/:                "] {
                    let text = format!("{sign}{digits}{behind}");
                    let (mut long, mut short) = (Cursor::new(text.as_bytes()), Cursor::new(text.as_bytes()));
                    let expected = long.integer(1 << 63);
                    match short.short_integer() {
                        Some(number) => {
                            assert_eq!(Ok(number), expected, "{text}");
                            assert_eq!(short.at, long.at);
                            assert!(number.abs() < 10_000_000);
                        }
                        None => assert_eq!(short.at, 0),
                    }
                    let grammar = (sign.len() < 2 && sign != "+")
                        && (1..=19).contains(&digits.len())
                        && (digits.len() == 1 || !digits.starts_with('0'));
                    let exact = grammar.then(|| format!("{sign}{digits}").parse().ok()).flatten();
                    assert!(digits.len() > 19 || expected.ok() == exact, "{text}");
                }
            }
        }
    }

    #[test]
    fn integers_keep_to_their_range_and_grammar() {
        let byte = |text: &str| whole(text, |cursor| cursor.integer(1 << 7));
        let long = |text: &str| whole(text, |cursor| cursor.integer(1 << 63));
        assert_eq!((byte("-128"), byte("127"), byte("-0")), (Some(-128), Some(127), Some(0)));
        assert_eq!((byte("128"), byte("-129")), (None, None));
        assert_eq!(long("9223372036854775807"), Some(i64::MAX));
        assert_eq!(long("-9223372036854775808"), Some(i64::MIN));
        for bad in ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "01", "-", "", "1.0", "1e3"] {
            assert_eq!(long(bad), None, "{bad}");
        }
    }

    #[test]
    fn floats_are_the_nearest_of_the_text() {
        let texts = [
            "0.1",
            "-0.0",
            "1e22",
            "1e23",
            "123456789.125",
            "5e-324",
            "1.7976931348623157e308",
            "0.30000000000000004",
            "9007199254740993.0",
            "2.2250738585072011e-308",
            "1.00000005960464477540",
            "16777217.0",
            "3.4028235e38",
            "1e-400",
            "123456789012345678901234567890.5",
            "0.00000000000000000000000000000000000001234567890123456789",
        ];
        for text in texts {
            let double: f64 = text.parse().unwrap();
            assert_eq!(whole(text, |cursor| cursor.double()).map(f64::to_bits), Some(double.to_bits()), "{text}");
            let float: f32 = text.parse().unwrap();
            let expected = float.is_finite().then_some(float.to_bits());
            assert_eq!(whole(text, |cursor| cursor.float()).map(f32::to_bits), expected, "{text}");
        }
        assert_eq!(whole("9007199254740992", |cursor| cursor.double()), Some(9007199254740992.0));
        assert_eq!(whole("9007199254740993", |cursor| cursor.double()), None);
        assert_eq!(whole("16777217", |cursor| cursor.float()), None);
        for bad in ["1e400", "1.", ".5", "-", "1e", "NaN", "01.5", "0x1", "1_0", ""] {
            assert_eq!(whole(bad, |cursor| cursor.double()), None, "{bad}");
        }
    }

    #[test]
    fn decimals_are_exact_or_doubt() {
        let number = |text: &str| whole(text, |cursor| cursor.decimal(5, 2));
        let text = |text: &str| decimal_of(text.as_bytes(), 5, 2).ok();
        for (spelled, expected) in [
            ("999.99", Some(99999)),
            ("1000", None),
            ("1e2", Some(10000)),
            ("1e3", None),
            ("15e-1", Some(150)),
            ("1.005", None),
            ("1.500", Some(150)),
            ("-0.0", Some(0)),
            ("-1.5", Some(-150)),
            ("1.00000000000000000000000", Some(100)),
        ] {
            assert_eq!(number(spelled), expected, "{spelled}");
            assert_eq!(text(spelled), expected, "{spelled}");
        }
        for (spelled, expected) in [("+1.5", 150), ("007", 700), (".5", 50), ("5.", 500)] {
            assert_eq!((number(spelled), text(spelled)), (None, Some(expected)), "{spelled}");
        }
        for bad in ["", ".", "+", " 1", "1 ", "NaN", "1_0", "1..2", "e5", "1e", "1e1000000", "--1"] {
            assert_eq!(text(bad), None, "{bad}");
        }
        let nines = "9".repeat(38);
        assert_eq!(decimal_of(nines.as_bytes(), 38, 0), Ok(10i128.pow(38) - 1));
        assert_eq!(decimal_of("9".repeat(39).as_bytes(), 38, 0), Err(Doubt));
    }
}
