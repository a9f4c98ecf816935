//! Receives the body of a request as a whole.

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use super::{
    error_response::{ErrorResponse, with_status},
    received_bytes::ReceivedBytes,
};
use crate::error::Error;

/// Reads a whole body and counts its bytes.
///
/// The chunks are copied into one buffer, because each separate chunk keeps the whole buffer into which it
/// was read, however short it is.
///
/// # Errors
/// The body is larger than `max` bytes, ends early, or exceeds the limit on received bytes.
pub(super) async fn whole(
    mut body: Body,
    max: usize,
    counted: Option<&ReceivedBytes>,
) -> Result<Bytes, ErrorResponse> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_fault| {
            (StatusCode::BAD_REQUEST, Error::bad_input("body", "can't be read"))
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        if all.len() + piece.len() > max {
            let error = Error::bad_input("body", format!("is larger than {max} bytes"));
            return Err((StatusCode::PAYLOAD_TOO_LARGE, error));
        }
        keep(counted, piece.len())?;
        if all.is_empty() && body.is_end_stream() {
            return Ok(piece);
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

/// Counts bytes that are kept until the response.
///
/// # Errors
/// The limit on received bytes is exceeded.
pub(super) fn keep(counted: Option<&ReceivedBytes>, bytes: usize) -> Result<(), ErrorResponse> {
    let kept = counted.map_or(Ok(()), |counted| counted.keep(bytes));
    kept.map_err(|reached| with_status(reached.into()))
}
