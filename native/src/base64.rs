//! Standard base64 (RFC 4648 section 4), canonical only: padded, no line breaks, unused bits zero.

use crate::cursor::{Doubt, Parsed};

const NONE: u8 = 0xff;
const SIXES: [u8; 256] = {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sixes = [NONE; 256];
    let mut i = 0;
    while i < 64 {
        sixes[letters[i] as usize] = i as u8;
        i += 1;
    }
    sixes
};

/// Decodes `text` and appends its bytes to `to`. After `Doubt` some bytes may have been appended.
pub fn decode(text: &[u8], to: &mut Vec<u8>) -> Parsed<()> {
    if text.len() % 4 != 0 {
        return Err(Doubt);
    }
    let padding = text.iter().rev().take(2).take_while(|letter| **letter == b'=').count();
    let letters = &text[..text.len() - padding];
    to.reserve(text.len() / 4 * 3);
    let groups = letters.chunks_exact(4);
    let rest = groups.remainder();
    for group in groups {
        let sixes = [0, 1, 2, 3].map(|i| SIXES[group[i] as usize]);
        if sixes.contains(&NONE) {
            return Err(Doubt);
        }
        let bits = sixes.iter().fold(0, |bits, six| bits << 6 | u32::from(*six));
        to.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    let mut bits: u32 = 0;
    for letter in rest {
        let six = SIXES[*letter as usize];
        if six == NONE {
            return Err(Doubt);
        }
        bits = bits << 6 | u32::from(six);
    }
    match rest.len() {
        0 => {}
        2 if bits & 0xf == 0 => to.push((bits >> 4) as u8),
        3 if bits & 0x3 == 0 => to.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return Err(Doubt),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        decode(text.as_bytes(), &mut bytes).ok().map(|()| bytes)
    }

    #[test]
    fn only_the_canonical_text_of_some_bytes_is_taken() {
        for (text, bytes) in [("", "".as_bytes()), ("aGFsbG8=", b"hallo"), ("aGFs", b"hal"), ("AA==", b"\0"), ("////", &[255; 3])]
        {
            assert_eq!(decoded(text).as_deref(), Some(bytes), "{text}");
        }
        for bad in
            ["aGFsbG8", "aGFsbG9=", "AB==", "aGFs bG8=", "-_-_", "====", "A===", "AA=A", "=AAA", "AAA=AAAA", "ääää", "AAAA===="]
        {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
