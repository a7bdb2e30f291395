//! JSON pointers (RFC 6901) that say how far they got.

use super::MetricError;
use super::excerpt::{excerpt, shortened};
use serde_json::Value;

/// Keys shown of an object.
const KEYS: usize = 12;

/// Reads a text that is JSON.
pub(super) fn parse(metric: &str, text: &str) -> Result<Value, MetricError> {
    serde_json::from_str(text).map_err(|error| MetricError::NotJson {
        metric: metric.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: {
            // The parser ends its message with the place, which ours has already.
            let reason = error.to_string();
            let end = reason.rfind(" at line ").unwrap_or(reason.len());
            reason[..end].to_owned()
        },
        excerpt: excerpt(text),
    })
}

/// Whether a text is a pointer: empty, or `/` before each of its parts.
pub(super) fn check(pointer: &str) -> Result<(), MetricError> {
    let bad = |reason| {
        Err(MetricError::BadPointer {
            pointer: pointer.to_owned(),
            reason,
        })
    };
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return bad("it has to start with `/`");
    }
    let escapes = pointer.split('~').skip(1);
    if escapes.clone().any(|after| !after.starts_with(['0', '1'])) {
        return bad("`~` is written `~0` and `/` within a key `~1`");
    }
    Ok(())
}

/// What is at the pointer.
pub(super) fn at<'a>(
    metric: &str,
    value: &'a Value,
    pointer: &str,
) -> Result<&'a Value, MetricError> {
    let mut value = value;
    let mut reached = 0;
    for part in pointer.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        let next = match value {
            Value::Object(members) => members.get(&key),
            // The RFC wants no zeros before an index.
            Value::Array(elements) if key == "0" || !key.starts_with('0') => key
                .parse()
                .ok()
                .and_then(|index: usize| elements.get(index)),
            _ => None,
        };
        let Some(next) = next else {
            return Err(MetricError::NothingThere {
                metric: metric.to_owned(),
                pointer: pointer.to_owned(),
                reached: pointer.get(..reached).unwrap_or_default().to_owned(),
                there: described(value),
            });
        };
        value = next;
        reached += 1 + part.len();
    }
    Ok(value)
}

/// What a value is, for an error message.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "an object without keys".to_owned(),
        Value::Object(members) => {
            let keys: Vec<String> = members
                .keys()
                .take(KEYS)
                .map(|key| shortened(key))
                .collect();
            let more = if members.len() > KEYS { ", …" } else { "" };
            format!("an object with the keys {}{more}", keys.join(", "))
        }
        Value::Array(elements) => format!("an array of {}", elements.len()),
        other => shortened(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn follows_keys_indices_and_escapes() {
        let value = json!({"a": [1, {"b/c": 2, "~": 3, "": 4, "p(95)": 5}]});
        let found = |pointer| at("m", &value, pointer).unwrap().clone();
        assert_eq!(found("/a/0"), json!(1));
        assert_eq!(found("/a/1/b~1c"), json!(2));
        assert_eq!(found("/a/1/~0"), json!(3));
        assert_eq!(found("/a/1/"), json!(4));
        assert_eq!(found("/a/1/p(95)"), json!(5));
        assert_eq!(found(""), value);
    }

    #[test]
    fn says_how_far_it_got() {
        let value = json!({"metrics": {"latency": 1, "rate": [1, 2]}, "version": 3});
        let error = |pointer| at("m", &value, pointer).unwrap_err().to_string();
        let wanted = "`m`: nothing is at `/metrics/speed/p95` of the JSON; `/metrics` is an object \
                      with the keys latency, rate";
        assert_eq!(error("/metrics/speed/p95"), wanted);
        assert!(error("/metrics/rate/2").ends_with("`/metrics/rate` is an array of 2"));
        assert!(error("/metrics/rate/01").ends_with("an array of 2"));
        assert!(error("/version/x").ends_with("`/version` is 3"));
        assert!(error("/x").ends_with("`` is an object with the keys metrics, version"));
    }

    #[test]
    fn pointers_are_checked() {
        for pointer in ["", "/", "/a/b", "/~0~1"] {
            assert_eq!(check(pointer), Ok(()));
        }
        for pointer in ["a", "a/b", "/~", "/~2", "#/a"] {
            assert!(check(pointer).is_err(), "{pointer}");
        }
    }

    #[test]
    fn what_is_no_json_has_a_place() {
        let error = parse("m", "{\n \"a\": x}").unwrap_err().to_string();
        let wanted = "`m` wants JSON, and line 2, column 7 is not: expected value; what was printed \
                      is :";
        assert!(error.starts_with(&wanted.replace(" :", ":")), "{error}");
    }
}
