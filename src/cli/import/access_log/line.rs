//! Lines of access logs in the common and the combined format, as Apache and nginx write them:
//!
//! ```text
//!   host ident user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.0" 200 2326
//!   host ident user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.0" 200 2326 "referrer" "user agent"
//! ```
//!
//! `-` is a value that is missing. What follows the last field is ignored, because many sites add fields there. Escapes are
//! resolved if the text is then printable UTF-8; otherwise it stays as it is written.
//! <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>

use std::borrow::Cow;

use jiff::fmt::strtime;
use memchr::{memchr, memchr2, memmem};

use super::super::faults::Fault;
use crate::domains::events::import::Event;

/// A parsed line. `-` is `None`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) host: Cow<'a, str>,
    pub(super) user: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    /// Method and URL, or the whole request if it isn't one of HTTP.
    pub(super) request: Cow<'a, str>,
    pub(super) status: Option<i32>,
    pub(super) bytes: Option<i64>,
    pub(super) referrer: Option<Cow<'a, str>>,
    pub(super) user_agent: Option<Cow<'a, str>>,
}

impl<'a> Line<'a> {
    /// Parses a line without its terminator.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, Fault> {
        let mut rest = Rest(line);
        let host = rest.word("host")?;
        rest.word("ident")?;
        let user = rest.user()?;
        let at = rest.time()?;
        rest.expect(b' ', "request")?;
        let request = rest.quoted("request")?;
        rest.expect(b' ', "status")?;
        let status = rest.number("status", 3)?.map(|status| i32::try_from(status).unwrap_or(0));
        rest.expect(b' ', "bytes")?;
        let bytes = rest.number("bytes", 18)?;
        let (mut referrer, mut user_agent) = (None, None);
        if rest.0.starts_with(b" \"") {
            rest.expect(b' ', "referrer")?;
            referrer = present(rest.quoted("referrer")?);
            rest.expect(b' ', "userAgent")?;
            user_agent = present(rest.quoted("userAgent")?);
        }
        // nginx writes an empty text where Apache writes `-`, for a connection without a request.
        let request = if request.is_empty() { Cow::Borrowed("-") } else { decoded(request) };
        Ok(Self { host: decoded(host), user, at, request, status, bytes, referrer, user_agent })
    }

    /// The event of the line.
    pub(super) fn event<'b>(&'b self, site: &'b str) -> Event<'b> {
        let (method, url) = split(&self.request);
        let (path, query) = match url.split_once('?') {
            // Without a path, the text is that of a request that isn't one.
            Some((path, query)) if !path.is_empty() => (path, Some(query)),
            _ => (url, None),
        };
        Event {
            at: self.at,
            host: &self.host,
            site,
            path,
            query: query.filter(|query| !query.is_empty()),
            method,
            status: self.status,
            bytes: self.bytes,
            referrer: self.referrer.as_deref(),
            user_agent: self.user_agent.as_deref(),
            user: self.user.as_deref(),
        }
    }
}

/// Method and URL of a request. One that isn't of HTTP has no method, and its whole text stands for the URL.
fn split(request: &str) -> (Option<&str>, &str) {
    let Some((method, rest)) = request.split_once(' ') else { return (None, request) };
    let is_method = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_method) {
        return (None, request);
    }
    // A URL that isn't encoded may contain spaces.
    let url = match rest.rsplit_once(' ') {
        Some((url, version)) if version.starts_with("HTTP/") => url,
        _ => rest,
    };
    if url.is_empty() { (None, request) } else { (Some(method), url) }
}

/// The reason of a line that ends before its time.
const ENDS_EARLY: &str =
    "nothing follows it: a line is host ident user [time] \"request\" status bytes";

/// The reason of a line with more fields before the time, such as one that begins with a virtual host.
const MORE_FIELDS: &str =
    "is more than one field: a line is host ident user [time] \"request\" status bytes";

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// The text up to the next space, which is skipped.
    fn word(&mut self, field: &str) -> Result<&'a [u8], Fault> {
        if self.0.is_empty() {
            return Err(Fault::of_field(field, "is missing"));
        }
        let end = memchr(b' ', self.0).ok_or_else(|| Fault::of_field(field, ENDS_EARLY))?;
        if end == 0 {
            return Err(Fault::of_field(field, "is empty"));
        }
        let word = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(word)
    }

    /// The user, who may have spaces in the name, and the bracket of the time. A `-` by itself isn't a part of a name.
    fn user(&mut self) -> Result<Option<Cow<'a, str>>, Fault> {
        let end = memmem::find(self.0, b" [").ok_or_else(|| Fault::of_field("time", "has no ["))?;
        let user = &self.0[..end];
        if user.starts_with(b"- ") || memmem::find(user, b" - ").is_some() {
            return Err(Fault::of_field("user", MORE_FIELDS));
        }
        self.0 = &self.0[end + 2..];
        Ok(present(user))
    }

    /// The time up to its bracket.
    fn time(&mut self) -> Result<i64, Fault> {
        let invalid = || Fault::of_field("time", "isn't a time such as 10/Oct/2000:13:55:36 -0700");
        let end = memchr(b']', self.0).ok_or_else(invalid)?;
        let at = time(&self.0[..end]).ok_or_else(invalid)?;
        self.0 = &self.0[end + 1..];
        Ok(at)
    }

    fn expect(&mut self, byte: u8, field: &str) -> Result<(), Fault> {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                Ok(())
            }
            None => Err(Fault::of_field(field, "is missing")),
            Some(_) => Err(Fault::of_field(field, "must follow after one space")),
        }
    }

    /// A text in quotation marks, with its escapes.
    fn quoted(&mut self, field: &str) -> Result<&'a [u8], Fault> {
        let text = self.0.strip_prefix(b"\"");
        let text = text.ok_or_else(|| Fault::of_field(field, "must be in quotation marks"))?;
        let mut from = 0;
        loop {
            let at = text.get(from..).and_then(|text| memchr2(b'"', b'\\', text));
            let Some(at) = at.map(|at| from + at) else {
                return Err(Fault::of_field(field, "has no quotation mark at its end"));
            };
            if text[at] == b'"' {
                self.0 = &text[at + 1..];
                return Ok(&text[..at]);
            }
            from = at + 2;
        }
    }

    /// A number of at most this many digits, or `-`.
    fn number(&mut self, field: &str, most: usize) -> Result<Option<i64>, Fault> {
        let end = memchr(b' ', self.0).unwrap_or(self.0.len());
        let word = &self.0[..end];
        self.0 = &self.0[end..];
        if word == b"-" {
            return Ok(None);
        }
        let fits = (1..=most).contains(&word.len());
        digits(word).filter(|_| fits).map(Some).ok_or_else(|| {
            Fault::of_field(field, format!("isn't a number of at most {most} digits"))
        })
    }
}

fn digits(word: &[u8]) -> Option<i64> {
    word.iter().try_fold(0_i64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// A time such as `10/Oct/2000:13:55:36 -0700`, in milliseconds since 1970. A leap second is the last one of its minute.
fn time(text: &[u8]) -> Option<i64> {
    // The library also takes spaces and fewer digits.
    let is_separated = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if text.len() != 26 || is_separated.iter().any(|&(at, byte)| text[at] != byte) {
        return None;
    }
    let time = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    Some(time.to_timestamp().ok()?.as_millisecond())
}

/// The text of a field; `None` if it is missing.
fn present(field: &[u8]) -> Option<Cow<'_, str>> {
    (!field.is_empty() && field != b"-").then(|| decoded(field))
}

/// A field without its escapes, if it is then printable UTF-8.
fn decoded(field: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', field).is_some() {
        let text = String::from_utf8(unescaped(field)).ok();
        if let Some(text) = text.filter(|text| !text.chars().any(char::is_control)) {
            return Cow::Owned(text);
        }
    }
    let text = String::from_utf8_lossy(field);
    let is_plain = text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control());
    if is_plain || !text.contains(char::is_control) {
        return text;
    }
    Cow::Owned(text.replace(char::is_control, "\u{fffd}"))
}

/// A field without the escapes `\"`, `\\` and `\xhh`. Others stay as they are.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (mut text, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            text.push(*byte);
            continue;
        }
        let high_and_low = (hex(rest.get(1)), hex(rest.get(2)));
        match (rest.first(), high_and_low) {
            (Some(b'x'), (Some(high), Some(low))) => {
                text.extend(u8::try_from(high * 16 + low));
                rest = &rest[3..];
            }
            (Some(quoted @ (b'"' | b'\\')), _) => {
                text.push(*quoted);
                rest = &rest[1..];
            }
            _ => text.push(b'\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests;
