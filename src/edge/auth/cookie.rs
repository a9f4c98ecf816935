//! A token in a cookie ([RFC 6265](https://www.rfc-editor.org/rfc/rfc6265#section-5.4)).

use axum::http::{HeaderMap, header::COOKIE};

use crate::error::Error;

/// The value of the cookie. An empty value counts as no cookie.
///
/// # Errors
/// `BadToken` if there are several such cookies. A page on a neighbouring host can set a cookie of the same name, and
/// the header doesn't show which cookie is the user's.
pub(super) fn value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Error> {
    let mut found = None;
    for header in headers.get_all(COOKIE) {
        for cookie in header.as_bytes().split(|byte| *byte == b';') {
            // Other cookies may contain any bytes.
            let Some(value) = cookie.trim_ascii().strip_prefix(name.as_bytes()) else { continue };
            let Some(value) = value.strip_prefix(b"=") else { continue };
            let value = std::str::from_utf8(value).map_err(|_| Error::BadToken)?;
            if found.replace(value).is_some() {
                return Err(Error::BadToken);
            }
        }
    }
    Ok(found.filter(|value| !value.is_empty()))
}
