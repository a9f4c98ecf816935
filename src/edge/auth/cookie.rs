//! A token in a cookie ([RFC 6265](https://www.rfc-editor.org/rfc/rfc6265#section-5.4)).

use axum::http::{HeaderMap, header::COOKIE};

use crate::error::Error;

/// The value of the cookie. One that was emptied counts as none.
///
/// # Errors
/// `BadToken` if it is there twice: a page on a neighbouring host can set one of the same name, and
/// nothing tells which of them is the user's.
pub(super) fn value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Error> {
    let mut found = None;
    for header in headers.get_all(COOKIE) {
        let cookies = header.to_str().map_err(|_| Error::BadToken)?;
        for (own, value) in cookies.split(';').filter_map(|cookie| cookie.trim().split_once('=')) {
            if own == name && found.replace(value).is_some() {
                return Err(Error::BadToken);
            }
        }
    }
    Ok(found.filter(|value| !value.is_empty()))
}
