//! Files that come with a request, read while they come.
//! <https://github.com/jaydenseric/graphql-multipart-request-spec>
//!
//! The files of a request follow each other in its body, so they can only be read in that order and
//! once. Nothing is kept: an operation takes its file's bytes as they arrive.

use std::{fmt, sync::Arc};

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::Error;

/// What stands in a variable for the file at a place of the request.
const MARK: &str = "docgate:file:";

/// A file of the request, as the GraphQL multipart request specification sends it.
#[derive(Debug, Clone, Copy)]
pub struct Upload {
    place: usize,
}

/// A file that comes with the request, as the GraphQL multipart request specification has it. The
/// variable itself is null; `map` names it.
#[Scalar(specified_by_url = "https://github.com/jaydenseric/graphql-multipart-request-spec")]
impl ScalarType for Upload {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        let place = text.strip_prefix(MARK).and_then(|place| place.parse().ok());
        let place = place.ok_or_else(|| {
            InputValueError::custom("a file is expected: send it as multipart/form-data")
        })?;
        Ok(Self { place })
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::Null
    }
}

/// What stands in a variable for the file at that place.
pub fn mark(place: usize) -> String {
    format!("{MARK}{place}")
}

/// A part of a request's body, in order.
#[derive(Debug)]
pub enum Piece {
    /// A file begins: its place in `map`, and what is said about it.
    File {
        /// Its place.
        place: usize,
        /// What it is called where it comes from.
        name: Option<String>,
        /// Its media type as the client says.
        media_type: Option<String>,
    },
    /// Bytes of that file.
    Bytes(Bytes),
    /// The file is whole.
    End,
}

/// The files of one request.
#[derive(Clone)]
pub struct Files {
    pieces: Arc<Mutex<BoxStream<'static, Result<Piece, Error>>>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Files")
    }
}

/// One file on its way in.
pub struct Incoming {
    /// What it is called where it comes from.
    pub name: String,
    /// Its media type as the client says; nothing to rely on.
    pub media_type: Option<String>,
    /// Its bytes. An error: the rest doesn't come.
    pub bytes: BoxStream<'static, Result<Bytes, Error>>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Incoming").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Files {
    /// Those that come with these pieces.
    pub fn new(pieces: impl Stream<Item = Result<Piece, Error>> + Send + 'static) -> Self {
        Self { pieces: Arc::new(Mutex::new(pieces.boxed())) }
    }

    /// The file that an argument names. Others that stand before it are used already, or lost.
    ///
    /// # Errors
    /// `BadInput` naming `field`: the file isn't there, isn't there any more, or can't be reached
    /// because another one is before it.
    pub async fn take(&self, field: &'static str, upload: Upload) -> Result<Incoming, Error> {
        let mut pieces = Arc::clone(&self.pieces).lock_owned().await;
        loop {
            match pieces.next().await.transpose()? {
                Some(Piece::File { place, name, media_type }) if place == upload.place => {
                    let name = name.unwrap_or_default();
                    return Ok(Incoming { name, media_type, bytes: rest(pieces).boxed() });
                }
                Some(Piece::File { .. }) => {
                    let reason =
                        "comes behind another file: send files in the order in which they are used";
                    return Err(Error::bad_input(field, reason));
                }
                // Of a file that was refused before its end.
                Some(Piece::Bytes(_) | Piece::End) => {}
                None => {
                    let reason = "isn't in the request, or was used before";
                    return Err(Error::bad_input(field, reason));
                }
            }
        }
    }

    /// The only file of a request that isn't GraphQL's.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn first(&self, field: &'static str) -> Result<Incoming, Error> {
        self.take(field, Upload { place: 0 }).await
    }

    /// Takes in what is left, up to so many bytes, so that the client can read its answer.
    pub async fn discard(&self, most: usize) {
        let mut pieces = self.pieces.lock().await;
        let mut left = most;
        while let Some(Ok(piece)) = pieces.next().await {
            let Piece::Bytes(bytes) = piece else { continue };
            let Some(rest) = left.checked_sub(bytes.len()) else { return };
            left = rest;
        }
    }
}

/// The bytes of the file that has begun.
fn rest(
    mut pieces: OwnedMutexGuard<BoxStream<'static, Result<Piece, Error>>>,
) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
    async_stream::stream! {
        loop {
            match pieces.next().await {
                Some(Ok(Piece::Bytes(bytes))) => yield Ok(bytes),
                Some(Ok(Piece::End | Piece::File { .. })) => return,
                Some(Err(error)) => {
                    yield Err(error);
                    return;
                }
                None => {
                    yield Err(cut_short());
                    return;
                }
            }
        }
    }
}

/// The client sent less than the whole request, or hung up.
pub fn cut_short() -> Error {
    Error::bad_input("body", "ended before the file did")
}
