//! The checksum CRC-32C (Castagnoli) of RFC 3720, eight bytes at a time.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[n][byte]`: what a byte followed by n zero bytes adds.
const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
};

/// Returns the checksum of some bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut eights = bytes.chunks_exact(8);
    let mut sum = !0_u32;
    for eight in &mut eights {
        let mut word: [u8; 8] = eight.try_into().unwrap_or_default();
        for (byte, mask) in word.iter_mut().zip(sum.to_le_bytes()) {
            *byte ^= mask;
        }
        sum = word.iter().rev().zip(&TABLES).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
    }
    for byte in eights.remainder() {
        sum = sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_rfc_3720() {
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
