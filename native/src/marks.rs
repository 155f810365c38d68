//! Which messages may hold an object at the key `schema`, as Kafka Connect's JSON converter writes it beside the payload.

const TEXT: &str = "\"schema\"";
/// A letter of the key may also be written as an escape: all of them are `\u006.` or `\u007.`
const ESCAPES: [&str; 2] = ["\\u006", "\\u007"];

/// Returns a byte for each message: 1 if it may hold the key. If no message does, this costs three fast searches.
pub fn may_hold_schema(offsets: &[i32], data: &[u8]) -> Vec<u8> {
    let whole = &data[offsets[0] as usize..offsets[offsets.len() - 1] as usize];
    match std::str::from_utf8(whole) {
        Ok(text) if !holds(text) => vec![0; offsets.len() - 1],
        _ => offsets.windows(2).map(|ends| in_message(&data[ends[0] as usize..ends[1] as usize])).collect(),
    }
}

fn holds(text: &str) -> bool {
    text.contains(TEXT) || ESCAPES.iter().any(|escape| text.contains(escape))
}

/// A message that is not UTF-8 is refused anyway.
fn in_message(message: &[u8]) -> u8 {
    std::str::from_utf8(message).is_ok_and(holds).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_with_the_key_in_some_spelling_are_marked() {
        let messages = [r#"{"schema":{}}"#, r#"{"schemas":{}}"#, r#"{"\u0073chema":{}}"#, r#"{"a":"\u00e9"}"#, ""];
        let mut offsets = vec![0];
        for message in messages {
            offsets.push(offsets[offsets.len() - 1] + message.len() as i32);
        }
        let data = messages.concat();
        assert_eq!(may_hold_schema(&offsets, data.as_bytes()), [1, 0, 1, 0, 0]);
        assert_eq!(may_hold_schema(&[13, 27, 27], &data.as_bytes()[..27]), [0, 0]);
        assert_eq!(may_hold_schema(&[0], b""), [0; 0]);
        assert_eq!(may_hold_schema(&[0, 1], b"\xff"), [0]);
    }
}
