//! `GET` and `HEAD` of a file.

use async_graphql::ID;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use headers::{AcceptRanges, ContentLength, ContentRange, ETag, HeaderMapExt as _, LastModified};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    super::{Edge, shares::Permit},
    AssetError,
    conditions::{Verdict, evaluate},
    pictures,
};
use crate::{
    domains::assets::{AssetDocument, FileFacts, operations, types::AssetBy},
    error::{Error, Result},
    graphql::{cx::Cx, input, node_id::NodeKind},
};

pub(super) async fn answer(edge: &Edge, head: &Parts) -> Result<Response, AssetError> {
    let caller = edge.caller(head).await?;
    let path = head.uri.path().strip_prefix("/assets").unwrap_or_default();
    let by = named(path).ok_or_else(|| AssetError::not_found(path))?;
    let client = edge.client(&caller, head);
    let cx = Cx { app: &edge.app, requester: &caller.requester };
    let found = edge.work(client, operations::asset(cx, by)).await?;
    let found = found.and_then(|asset| asset.file.clone().map(|file| (asset, file)));
    let (asset, file) = found.ok_or_else(|| AssetError::not_found(path))?;
    if asset.redirected_from.is_some() {
        return moved(&asset, head.uri.query());
    }
    let file = match pictures::wanted(head.uri.query())? {
        Some(width) => pictures::at_width(edge, client, &asset, file, width).await?,
        None => file,
    };
    let length = u64::try_from(file.length).map_err(Error::internal)?;
    let tag: ETag = tag(&file).parse().map_err(|_| Error::internal("a tag of digits"))?;
    let modified = file.at.to_system_time();
    let mut headers = described(&asset, &file);
    headers.typed_insert(tag.clone());
    headers.typed_insert(LastModified::from(modified));
    headers.typed_insert(AcceptRanges::bytes());
    let (status, range) = match evaluate(&head.method, &head.headers, &tag, modified, length) {
        Verdict::Whole => (StatusCode::OK, 0..length),
        Verdict::Part(range) => {
            let range_of = ContentRange::bytes(range.clone(), length);
            headers.typed_insert(range_of.map_err(|_| Error::internal("an invalid range"))?);
            (StatusCode::PARTIAL_CONTENT, range)
        }
        Verdict::NotModified => return Ok((StatusCode::NOT_MODIFIED, headers).into_response()),
        Verdict::PreconditionFailed => {
            let why = "If-Match or If-Unmodified-Since doesn't hold for this file";
            return Err(AssetError::refused(StatusCode::PRECONDITION_FAILED, "CONFLICT", why));
        }
        Verdict::RangeNotSatisfiable => return Err(AssetError::RangeNotSatisfiable(length)),
    };
    headers.typed_insert(ContentLength(range.end - range.start));
    if head.method == Method::HEAD {
        return Ok((status, headers).into_response());
    }
    let permit = edge.limits.begin_transfer(client)?;
    let bytes = Box::pin(operations::bytes(&edge.app, &file, range));
    let (first, rest) = pictures::checked(edge, &asset, &file, bytes).await?;
    let body = body(stream::iter(first).chain(rest), permit);
    Ok((status, headers, body).into_response())
}

/// The redirection from a former path. It isn't permanent: another asset may get the path.
fn moved(asset: &AssetDocument, query: Option<&str>) -> Result<Response, AssetError> {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let location = HeaderValue::try_from(format!("/assets{}{query}", asset.metadata.path));
    let location = location.map_err(Error::internal)?;
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((StatusCode::TEMPORARY_REDIRECT, headers).into_response())
}

/// The asset that a path below `/assets` names, by id or by path. An id contains letters that no slug has.
fn named(path: &str) -> Option<AssetBy> {
    let id = path.strip_prefix('/')?;
    if NodeKind::ASSET.key(id).is_some() {
        return Some(AssetBy::Id(ID::from(id)));
    }
    input::path("path", path).is_ok().then(|| AssetBy::Path(path.to_owned()))
}

/// The bytes, read on demand. The body holds the permit of the transfer until it is sent or its client
/// disconnects.
fn body(bytes: impl Stream<Item = Result<Bytes>> + Send + 'static, permit: Permit) -> Body {
    Body::from_stream(bytes.map(move |piece| {
        let _held = &permit;
        if let Err(error) = &piece {
            tracing::warn!(event = "download_failed", ?error, "a download ended before its end");
        }
        piece
    }))
}

/// The strong entity tag of a file, as in `ETag`.
pub(super) fn tag(file: &FileFacts) -> String {
    format!("\"{}\"", file.digest)
}

/// The headers that describe a file, the same for every status.
fn described(asset: &AssetDocument, file: &FileFacts) -> HeaderMap {
    let is_public = asset.metadata.access.is_empty();
    // The file may be replaced at any time, so caches must revalidate, which costs only a short response.
    let caching = if is_public { "public, no-cache" } else { "private, no-cache" };
    let charset = if file.media_type.starts_with("text/") { "; charset=utf-8" } else { "" };
    let mut headers = HeaderMap::new();
    let mut insert = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    insert(header::CONTENT_TYPE, format!("{}{charset}", file.media_type));
    insert(header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned());
    insert(header::CACHE_CONTROL, caching.to_owned());
    insert(header::VARY, "Authorization, Cookie".to_owned());
    insert(header::CONTENT_DISPOSITION, disposition(file));
    headers
}

/// Every character that a parameter's value can't hold unencoded.
/// <https://www.rfc-editor.org/rfc/rfc8187#section-3.2.1>
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// `Content-Disposition`: whether a browser shows or saves the file, and its name. The name has two forms,
/// because some clients support only ASCII.
fn disposition(file: &FileFacts) -> String {
    let kind = if is_shown_inline(&file.media_type) { "inline" } else { "attachment" };
    let plain =
        |c: char| if c.is_ascii_graphic() && !"\"\\%".contains(c) || c == ' ' { c } else { '_' };
    let ascii: String = file.name.chars().map(plain).collect();
    let encoded = utf8_percent_encode(&file.name, ENCODED);
    format!("{kind}; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

/// Media types that a browser may display, since it executes nothing in them. Files of other types can only
/// be saved.
const INLINE: &[&str] = &[
    "application/json",
    "application/pdf",
    "text/calendar",
    "text/css",
    "text/csv",
    "text/markdown",
    "text/plain",
    "text/vcard",
    "text/vtt",
];

/// Whether a browser may display files of this media type instead of only saving them.
fn is_shown_inline(media_type: &str) -> bool {
    let kind = media_type.split('/').next().unwrap_or_default();
    let is_medium = ["audio", "image", "video"].contains(&kind) && !media_type.contains("xml");
    is_medium || INLINE.contains(&media_type)
}
