//! Conditional and range requests: preconditions are evaluated first, then ranges, in the order of RFC 9110.
//! <https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2>

use std::{ops::Range, time::SystemTime};

use axum::http::{
    HeaderMap, Method,
    header::{IF_RANGE, RANGE},
};
use headers::{
    ETag, HeaderMapExt as _, IfMatch, IfModifiedSince, IfNoneMatch, IfRange, IfUnmodifiedSince,
};

/// The result of preconditions and ranges.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The whole file: 200.
    Whole,
    /// One range of the file: 206.
    Part(Range<u64>),
    /// The client's copy is current: 304.
    NotModified,
    /// A precondition failed: 412.
    PreconditionFailed,
    /// The range begins after the end of the file: 416.
    RangeNotSatisfiable,
}

/// Evaluates the preconditions and the range of a request for a file of `length` bytes.
pub(super) fn evaluate(
    method: &Method,
    headers: &HeaderMap,
    tag: &ETag,
    modified: SystemTime,
    length: u64,
) -> Verdict {
    let holds = match headers.typed_get::<IfMatch>() {
        Some(condition) => condition.precondition_passes(tag),
        None => headers
            .typed_get::<IfUnmodifiedSince>()
            .is_none_or(|condition| condition.precondition_passes(modified)),
    };
    if !holds {
        return Verdict::PreconditionFailed;
    }
    let is_new = match headers.typed_get::<IfNoneMatch>() {
        Some(condition) => condition.precondition_passes(tag),
        None => headers
            .typed_get::<IfModifiedSince>()
            .is_none_or(|condition| condition.is_modified(modified)),
    };
    if !is_new {
        return Verdict::NotModified;
    }
    // A date has to be that of the file: a later one tells nothing about the copy of the client.
    // <https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5>
    let differs = |condition: IfRange| {
        condition.is_modified(Some(tag), None) && condition != IfRange::date(modified)
    };
    let is_replaced = match headers.typed_try_get::<IfRange>() {
        Ok(condition) if headers.get_all(IF_RANGE).iter().count() < 2 => {
            condition.is_some_and(differs)
        }
        // What isn't one validator matches nothing.
        _ => true,
    };
    if is_replaced || method != Method::GET {
        return Verdict::Whole;
    }
    let mut ranges = headers.get_all(RANGE).iter();
    match (ranges.next().and_then(|value| value.to_str().ok()), ranges.next()) {
        (Some(header), None) => range(header, length),
        _ => Verdict::Whole,
    }
}

/// Parses a `Range` header. Several ranges, other units and invalid values are ignored, as the RFC allows;
/// the whole file is sent then.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-14.1.2>
fn range(header: &str, length: u64) -> Verdict {
    let Some((unit, set)) = header.split_once('=') else { return Verdict::Whole };
    let set = set.trim();
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return Verdict::Whole;
    }
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that overflows is larger than any file.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let Some((first, last)) = set.split_once('-') else { return Verdict::Whole };
    let wanted = match (first, number(first), last, number(last)) {
        ("", _, _, Some(suffix)) => length.saturating_sub(suffix)..length,
        (_, Some(first), "", _) => first..length,
        (_, Some(first), _, Some(last)) if first <= last => {
            first..last.saturating_add(1).min(length)
        }
        _ => return Verdict::Whole,
    };
    if wanted.is_empty() { Verdict::RangeNotSatisfiable } else { Verdict::Part(wanted) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_range_is_sent_only_if_the_validator_matches() {
        let tag: ETag = "\"it\"".parse().expect("a tag");
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_500);
        for (condition, verdict) in [
            (&["\"it\""][..], Verdict::Part(0..1)),
            (&["\"other\""], Verdict::Whole),
            (&["W/\"it\""], Verdict::Whole),
            (&["Sun, 06 Nov 1994 08:49:37 GMT"], Verdict::Part(0..1)),
            (&["Sun, 06 Nov 1994 08:49:36 GMT"], Verdict::Whole),
            (&["Sun, 06 Nov 1994 08:49:38 GMT"], Verdict::Whole),
            (&["it"], Verdict::Whole),
            (&["\"it"], Verdict::Whole),
            (&[""], Verdict::Whole),
            (&["yesterday"], Verdict::Whole),
            (&["\"it\"", "\"other\""], Verdict::Whole),
            (&[], Verdict::Part(0..1)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, "bytes=0-0".parse().expect("a value"));
            for value in condition {
                headers.append(IF_RANGE, value.parse().expect("a value"));
            }
            let found = evaluate(&Method::GET, &headers, &tag, modified, 10);
            assert_eq!(found, verdict, "{condition:?}");
        }
    }

    #[test]
    fn ranges_are_cut_to_the_file() {
        let length = 10;
        for (header, verdict) in [
            ("bytes=0-0", Verdict::Part(0..1)),
            ("bytes=2-5", Verdict::Part(2..6)),
            ("Bytes=2-5", Verdict::Part(2..6)),
            ("bytes=9-", Verdict::Part(9..10)),
            ("bytes=5-99", Verdict::Part(5..10)),
            ("bytes=5-99999999999999999999999", Verdict::Part(5..10)),
            ("bytes=-3", Verdict::Part(7..10)),
            ("bytes=-99", Verdict::Part(0..10)),
            ("bytes=10-", Verdict::RangeNotSatisfiable),
            ("bytes=99999999999999999999999-", Verdict::RangeNotSatisfiable),
            ("bytes=-0", Verdict::RangeNotSatisfiable),
            ("bytes=5-2", Verdict::Whole),
            ("bytes=0-1,3-4", Verdict::Whole),
            ("bytes=", Verdict::Whole),
            ("bytes=-", Verdict::Whole),
            ("bytes=a-b", Verdict::Whole),
            ("bytes=+1-2", Verdict::Whole),
            ("lines=1-2", Verdict::Whole),
            ("bytes", Verdict::Whole),
        ] {
            assert_eq!(range(header, length), verdict, "{header}");
        }
        assert_eq!(
            (range("bytes=0-", 0), range("bytes=-1", 0)),
            (Verdict::RangeNotSatisfiable, Verdict::RangeNotSatisfiable)
        );
    }
}
