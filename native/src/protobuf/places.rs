//! Sets of places in a list, as bits.

use crate::cursor::Parsed;

/// A set of places below a number that is fixed when it is made.
pub struct Places(Vec<u64>);

impl Places {
    /// Makes an empty set for places below `count`.
    pub fn none_of(count: usize) -> Self {
        Places(vec![0; count.div_ceil(64)])
    }

    /// Removes all places.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds a place. Returns whether it was missing.
    #[inline(always)]
    pub fn insert(&mut self, place: usize) -> bool {
        let (word, bit) = (&mut self.0[place / 64], 1 << (place % 64));
        let missing = *word & bit == 0;
        *word |= bit;
        missing
    }

    /// Calls `visit` for each place below `count` that is missing here or is in `others`, with whether it is here.
    #[inline(always)]
    pub fn each_missing_or_in(
        &self,
        others: &Places,
        count: usize,
        mut visit: impl FnMut(usize, bool) -> Parsed<()>,
    ) -> Parsed<()> {
        for (number, (here, others)) in self.0.iter().zip(&others.0).enumerate() {
            let places = count - number * 64;
            let every = if places < 64 { (1 << places) - 1 } else { u64::MAX };
            let mut left = (!here & every) | others;
            while left != 0 {
                let bit = left.trailing_zeros();
                visit(number * 64 + bit as usize, here >> bit & 1 == 1)?;
                left &= left - 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_missing_or_in_the_other_set_are_visited_once() {
        for count in [1, 63, 64, 65, 128, 130] {
            let (mut here, mut others) = (Places::none_of(count), Places::none_of(count));
            for place in (0..count).filter(|place| place % 3 == 0) {
                assert!(here.insert(place));
                assert!(!here.insert(place));
            }
            for place in (0..count).filter(|place| place % 2 == 0) {
                others.insert(place);
            }
            let mut visited = vec![];
            here.each_missing_or_in(&others, count, |place, is_here| {
                visited.push((place, is_here));
                Ok(())
            })
            .unwrap();
            let expected = (0..count).filter(|place| place % 3 != 0 || place % 2 == 0).map(|place| (place, place % 3 == 0));
            assert_eq!(visited, expected.collect::<Vec<_>>(), "{count}");
            here.clear();
            assert!(here.insert(0));
        }
    }
}
