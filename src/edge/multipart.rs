//! Incremental parsing of multipart bodies with bounded memory.
//!
//! multer reads all available data before it parses them, and buffers the preamble and the head of each part
//! without a limit. Here it receives one chunk at a time, and only when its buffer contains no further result.
//! Between two results it receives at most a maximum number of bytes.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream};
use multer::{Field, Multipart};

use crate::error::Error;

/// Maximum size of a part's head and of the preamble, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// The parts of a multipart body.
pub(super) struct Parts {
    inner: Multipart<'static>,
    gate: Arc<Gate>,
}

impl Parts {
    pub(super) fn of(
        body: impl Stream<Item = Result<Bytes, Error>> + Send + 'static,
        boundary: String,
    ) -> Self {
        let gate = Arc::<Gate>::default();
        Self { inner: Multipart::new(gate.before(body), boundary), gate }
    }

    /// The next part. The bytes of the previous part must have been read.
    pub(super) async fn next(&mut self) -> multer::Result<Option<Field<'static>>> {
        let Self { inner, gate } = self;
        gate.poll_parser(|context| inner.poll_next_field(context)).await
    }

    /// The next bytes of a part.
    pub(super) async fn bytes(&self, part: &mut Field<'static>) -> multer::Result<Option<Bytes>> {
        self.gate.poll_parser(|context| part.poll_next_unpin(context)).await.transpose()
    }
}

/// Controls how much of the body the parser receives.
#[derive(Default)]
struct Gate {
    /// Whether the parser may receive a chunk.
    is_open: AtomicBool,
    /// Whether the parser requested a chunk while none was available.
    is_waiting: AtomicBool,
    /// Bytes that the parser received since its last result.
    received: AtomicUsize,
}

impl Gate {
    /// The body behind the gate.
    fn before(
        self: &Arc<Self>,
        body: impl Stream<Item = Result<Bytes, Error>> + Send + 'static,
    ) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        let gate = Arc::clone(self);
        let mut body = Box::pin(body);
        stream::poll_fn(move |context| {
            if !gate.is_open.swap(false, Relaxed) {
                return Poll::Pending;
            }
            if gate.received.load(Relaxed) >= MAX_HEAD {
                let reason = format!("has more than {MAX_HEAD} bytes before a part or in its head");
                return Poll::Ready(Some(Err(Error::bad_input("body", reason))));
            }
            let piece = body.poll_next_unpin(context);
            match &piece {
                Poll::Ready(Some(Ok(bytes))) => {
                    gate.received.fetch_add(bytes.len(), Relaxed);
                }
                Poll::Ready(_) => {}
                Poll::Pending => gate.is_waiting.store(true, Relaxed),
            }
            piece
        })
    }

    /// The next result of the parser, first from its buffer, then from the next chunk.
    async fn poll_parser<T>(&self, mut read: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        poll_fn(|context| {
            self.is_open.store(false, Relaxed);
            let mut result = read(context);
            if result.is_pending() {
                self.is_open.store(true, Relaxed);
                self.is_waiting.store(false, Relaxed);
                result = read(context);
            }
            match result {
                Poll::Ready(result) => {
                    self.received.store(0, Relaxed);
                    Poll::Ready(result)
                }
                Poll::Pending => {
                    // The parser received a chunk and needs another one.
                    if !self.is_waiting.load(Relaxed) {
                        context.waker().wake_by_ref();
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }
}
