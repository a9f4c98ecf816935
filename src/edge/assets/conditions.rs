//! What of a file is sent: conditions first, then ranges, in the order of RFC 9110.
//! <https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2>

use std::{ops::Range, time::SystemTime};

use axum::http::{HeaderMap, Method, header::RANGE};
use headers::{
    ETag, HeaderMapExt as _, IfMatch, IfModifiedSince, IfNoneMatch, IfRange, IfUnmodifiedSince,
    LastModified,
};

/// What is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All of it: 200.
    Whole,
    /// One range of it: 206.
    Part(Range<u64>),
    /// The client has it: 304.
    NotModified,
    /// It isn't what the client wants: 412.
    Unexpected,
    /// It ends before the range begins: 416.
    Beyond,
}

/// What of a file of this length is sent.
pub(super) fn judge(
    method: &Method,
    headers: &HeaderMap,
    tag: &ETag,
    modified: SystemTime,
    length: u64,
) -> Verdict {
    let fits = match headers.typed_get::<IfMatch>() {
        Some(condition) => condition.precondition_passes(tag),
        None => headers
            .typed_get::<IfUnmodifiedSince>()
            .is_none_or(|condition| condition.precondition_passes(modified)),
    };
    if !fits {
        return Verdict::Unexpected;
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
    let last_modified = LastModified::from(modified);
    let is_another = headers
        .typed_get::<IfRange>()
        .is_some_and(|condition| condition.is_modified(Some(tag), Some(&last_modified)));
    if is_another || method != Method::GET {
        return Verdict::Whole;
    }
    let mut asked = headers.get_all(RANGE).iter();
    match (asked.next().and_then(|value| value.to_str().ok()), asked.next()) {
        (Some(asked), None) => range(asked, length),
        _ => Verdict::Whole,
    }
}

/// What a `Range` asks for. Several ranges, other units and what can't be read are passed over, as the
/// RFC allows: then all of it is sent.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-14.1.2>
fn range(asked: &str, length: u64) -> Verdict {
    let Some((unit, set)) = asked.split_once('=') else { return Verdict::Whole };
    let set = set.trim();
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return Verdict::Whole;
    }
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // One that is too large for us is larger than any file.
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
    if wanted.is_empty() { Verdict::Beyond } else { Verdict::Part(wanted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let length = 10;
        for (asked, found) in [
            ("bytes=0-0", Verdict::Part(0..1)),
            ("bytes=2-5", Verdict::Part(2..6)),
            ("Bytes=2-5", Verdict::Part(2..6)),
            ("bytes=9-", Verdict::Part(9..10)),
            ("bytes=5-99", Verdict::Part(5..10)),
            ("bytes=5-99999999999999999999999", Verdict::Part(5..10)),
            ("bytes=-3", Verdict::Part(7..10)),
            ("bytes=-99", Verdict::Part(0..10)),
            ("bytes=10-", Verdict::Beyond),
            ("bytes=99999999999999999999999-", Verdict::Beyond),
            ("bytes=-0", Verdict::Beyond),
            ("bytes=5-2", Verdict::Whole),
            ("bytes=0-1,3-4", Verdict::Whole),
            ("bytes=", Verdict::Whole),
            ("bytes=-", Verdict::Whole),
            ("bytes=a-b", Verdict::Whole),
            ("bytes=+1-2", Verdict::Whole),
            ("lines=1-2", Verdict::Whole),
            ("bytes", Verdict::Whole),
        ] {
            assert_eq!(range(asked, length), found, "{asked}");
        }
        assert_eq!(
            (range("bytes=0-", 0), range("bytes=-1", 0)),
            (Verdict::Beyond, Verdict::Beyond)
        );
    }
}
