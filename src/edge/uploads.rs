//! Multipart requests with files.
//! <https://github.com/jaydenseric/graphql-multipart-request-spec>
//!
//! The operation reads the files while they arrive. They must therefore follow `operations` and `map`, as the
//! specification requires, in the order in which the operation uses them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
};
use futures_util::{Stream, StreamExt};
use multer::parse_boundary;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Edge,
    error_response::{ErrorResponse, with_status},
    json::Object,
    multipart::Parts,
    parameters::{Parameters, check_values},
    receive,
    received_bytes::ReceivedBytes,
};
use crate::{
    error::Error,
    graphql::upload::{Files, Piece, cut_short, placeholder},
};

/// Maximum number of bytes of a request that are read and discarded after its operation, so that the client can
/// read the response.
const MAX_DISCARDED: usize = 1 << 20;

/// The boundary between the parts, if the body is multipart.
pub(super) fn boundary(headers: &HeaderMap) -> Option<String> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    parse_boundary(content_type).ok()
}

/// The chunks of a body, each within a time limit.
pub(super) fn chunks(
    body: Body,
    time_limit: Duration,
) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
    let mut body = body.into_data_stream();
    async_stream::try_stream! {
        loop {
            match timeout(time_limit, body.next()).await {
                Ok(None) => return,
                Ok(Some(Ok(bytes))) => yield bytes,
                Ok(Some(Err(_disconnected))) => Err(cut_short())?,
                Err(_elapsed) => Err(timed_out())?,
            }
        }
    }
}

fn timed_out() -> Error {
    Error::bad_input("body", "wasn't received in time")
}

/// Parses the request and its map. The files follow in the body.
///
/// # Errors
/// They can't be read, or there are too many files.
pub(super) async fn read(
    edge: &Edge,
    body: Body,
    boundary: String,
    received: Option<Arc<ReceivedBytes>>,
) -> Result<(Parameters, Files), ErrorResponse> {
    let received = received.as_deref();
    let config = edge.app.config();
    let mut parts = Parts::of(chunks(body, edge.limits.receive), boundary);
    let texts = async {
        let operations = text(&mut parts, "operations", config.body_bytes, received).await?;
        let map = text(&mut parts, "map", config.body_bytes, received).await?;
        Ok((operations, map))
    };
    let texts = timeout(edge.limits.receive, texts).await;
    let (operations, map) = texts.unwrap_or(Err((StatusCode::REQUEST_TIMEOUT, timed_out())))?;
    let parsed = with_placeholders(&operations, &map, config.asset_files);
    let (parameters, positions) = parsed.map_err(with_status)?;
    Ok((parameters, Files::new(pieces(parts, positions))))
}

/// Reads the next part, which must have this name.
async fn text(
    parts: &mut Parts,
    name: &'static str,
    max: usize,
    received: Option<&ReceivedBytes>,
) -> Result<Vec<u8>, ErrorResponse> {
    let part = parts.next().await.map_err(|fault| with_status(unreadable(fault)))?;
    let Some(mut part) = part.filter(|part| part.name() == Some(name)) else {
        let reason = "is missing: operations comes first, then map, then the files";
        return Err(with_status(Error::bad_input(name, reason)));
    };
    let mut text = Vec::new();
    while let Some(bytes) =
        parts.bytes(&mut part).await.map_err(|fault| with_status(unreadable(fault)))?
    {
        if text.len() + bytes.len() > max {
            let reason = format!("is larger than {max} bytes");
            return Err((StatusCode::PAYLOAD_TOO_LARGE, Error::bad_input(name, reason)));
        }
        receive::keep(received, bytes.len())?;
        text.extend_from_slice(&bytes);
    }
    Ok(text)
}

/// Sets a placeholder in each variable of a file. Returns the request, and the position in each placeholder by the
/// name of the file's part.
fn with_placeholders(
    operations: &[u8],
    map: &[u8],
    max: usize,
) -> Result<(Parameters, BTreeMap<String, usize>), Error> {
    if operations.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        let reason = "is a list: with files, a request has one operation";
        return Err(Error::bad_input("operations", reason));
    }
    check_values("operations", operations)?;
    check_values("map", map)?;
    let Object(operations) = serde_json::from_slice(operations)
        .map_err(|_| Error::bad_input("operations", "isn't a GraphQL request in JSON"))?;
    let map: BTreeMap<String, Vec<String>> = serde_json::from_slice(map).map_err(|_| {
        Error::bad_input(
            "map",
            "isn't an object of lists of paths, such as {\"0\": [\"variables.file\"]}",
        )
    })?;
    if map.len() > max {
        let reason = format!("names {} files: at most {max} go with a request", map.len());
        return Err(Error::bad_input("map", reason));
    }
    let mut operations = Value::Object(operations);
    let mut positions = BTreeMap::new();
    for (position, (name, paths)) in map.into_iter().enumerate() {
        let [path] = paths.as_slice() else {
            let reason = "a file goes into exactly one variable";
            return Err(Error::bad_input(format!("map.{name}"), reason));
        };
        let null = path
            .strip_prefix("variables.")
            .and_then(|_| target(&mut operations, path))
            .filter(|value| value.is_null());
        let Some(null) = null else {
            let reason = format!("{path:?} isn't a variable that is null");
            return Err(Error::bad_input(format!("map.{name}"), reason));
        };
        *null = Value::from(placeholder(position));
        positions.insert(name, position);
    }
    let Value::Object(operations) = operations else { return Err(Error::internal("an object")) };
    Ok((Parameters::of_object("operations", operations)?, positions))
}

/// The value at a path of keys and indexes separated by dots.
fn target<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(fields) => fields.get_mut(step),
        Value::Array(values) => values.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The remaining parts, read on demand.
fn pieces(
    mut parts: Parts,
    positions: BTreeMap<String, usize>,
) -> impl Stream<Item = Result<Piece, Error>> + Send + 'static {
    async_stream::try_stream! {
        while let Some(mut part) = parts.next().await.map_err(unreadable)? {
            let Some(position) = part.name().and_then(|name| positions.get(name)).copied() else {
                while parts.bytes(&mut part).await.map_err(unreadable)?.is_some() {}
                continue;
            };
            let name = part.file_name().map(str::to_owned);
            let media_type = part.content_type().map(ToString::to_string);
            yield Piece::File { position, name, media_type };
            while let Some(bytes) = parts.bytes(&mut part).await.map_err(unreadable)? {
                yield Piece::Bytes(bytes);
            }
            yield Piece::End;
        }
    }
}

/// Maps an error of the multipart parser. Errors of the body's stream are returned unchanged.
fn unreadable(fault: multer::Error) -> Error {
    match fault {
        multer::Error::StreamReadFailed(source) => {
            source.downcast::<Error>().map_or_else(|_| cut_short(), |error| *error)
        }
        multer::Error::IncompleteStream
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteFieldData { .. } => cut_short(),
        fault => Error::bad_input("body", format!("isn't multipart/form-data: {fault}")),
    }
}

/// Reads and discards the rest of the body, up to a limit.
pub(super) async fn discard(edge: &Edge, files: &Files) {
    // A timeout needs no handling.
    timeout(edge.limits.receive, files.discard(MAX_DISCARDED)).await.unwrap_or_default();
}
