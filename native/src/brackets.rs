//! The brackets of JSON: where arrays and objects begin, continue and end, and the members of an object.

use crate::context::Context;
use crate::cursor::{Cursor, Doubt, Parsed, MAX_DEPTH};
use crate::keys::{Keys, START};

/// Moves past an opening bracket. `depth`: how many objects and arrays are open around it.
pub(crate) fn open(cursor: &mut Cursor, bracket: u8, depth: u32) -> Parsed<()> {
    if depth >= MAX_DEPTH {
        return Err(Doubt);
    }
    cursor.expect(bracket)?;
    cursor.blanks();
    Ok(())
}

/// Moves past what follows an element or a member; returns whether another one is next.
#[inline(always)]
pub(crate) fn another(cursor: &mut Cursor, close: u8) -> Parsed<bool> {
    if cursor.peek() != b',' {
        cursor.blanks();
    }
    match cursor.bump() {
        b',' => {
            cursor.blanks();
            Ok(true)
        }
        byte if byte == close => Ok(false),
        _ => Err(Doubt),
    }
}

/// Reads an object. Calls `take` for the value of each member that fills a slot, and skips the others.
///
/// Doubt if two members fill the same slot.
#[inline(always)]
pub fn members(
    cursor: &mut Cursor,
    keys: &mut Keys,
    context: &mut Context,
    depth: u32,
    mut take: impl FnMut(&mut Cursor, &mut Context, usize) -> Parsed<()>,
) -> Parsed<()> {
    open(cursor, b'{', depth)?;
    keys.begin();
    if cursor.eat(b'}') {
        return Ok(());
    }
    let mut before = START;
    loop {
        let (key, slot) = keys.find(cursor, before, &mut context.scratch)?;
        before = key;
        match slot {
            Some(slot) => {
                keys.once(slot)?;
                take(cursor, context, slot)?;
            }
            None => cursor.skip(depth + 1)?,
        }
        if !another(cursor, b'}')? {
            return Ok(());
        }
    }
}
