//! The parts of a body, read while it comes.
//!
//! The reader of parts takes in whatever is there before it looks at what it has, and it keeps what stands
//! before the first part, and the head of each, however long they are. So here it gets one piece at a
//! time, only when it has nothing left to give out, and so many bytes at the most until it does.

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

/// Bytes of a part's head at the most, and of what stands before the first part.
const HEAD: usize = 16 << 10;

/// The parts of a body.
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

    /// The next part. All bytes of the one before were read.
    pub(super) async fn next(&mut self) -> multer::Result<Option<Field<'static>>> {
        let Self { inner, gate } = self;
        gate.given(|context| inner.poll_next_field(context)).await
    }

    /// The next bytes of a part.
    pub(super) async fn bytes(&self, part: &mut Field<'static>) -> multer::Result<Option<Bytes>> {
        self.gate.given(|context| part.poll_next_unpin(context)).await.transpose()
    }
}

/// Stands between a body and the reader of its parts.
#[derive(Default)]
struct Gate {
    /// Whether the reader may have a piece.
    is_open: AtomicBool,
    /// Whether it was open, and no piece was there.
    is_waiting: AtomicBool,
    /// Bytes that the reader got since it gave something out.
    taken: AtomicUsize,
}

impl Gate {
    /// The body, as the reader sees it.
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
            if gate.taken.load(Relaxed) >= HEAD {
                let reason = format!("has more than {HEAD} bytes before a part or in its head");
                return Poll::Ready(Some(Err(Error::bad_input("body", reason))));
            }
            let piece = body.poll_next_unpin(context);
            match &piece {
                Poll::Ready(Some(Ok(bytes))) => {
                    gate.taken.fetch_add(bytes.len(), Relaxed);
                }
                Poll::Ready(_) => {}
                Poll::Pending => gate.is_waiting.store(true, Relaxed),
            }
            piece
        })
    }

    /// What the reader gives out: of what it has, else of what comes.
    async fn given<T>(&self, mut read: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        poll_fn(|context| {
            self.is_open.store(false, Relaxed);
            let mut given = read(context);
            if given.is_pending() {
                self.is_open.store(true, Relaxed);
                self.is_waiting.store(false, Relaxed);
                given = read(context);
            }
            match given {
                Poll::Ready(given) => {
                    self.taken.store(0, Relaxed);
                    Poll::Ready(given)
                }
                Poll::Pending => {
                    // It got a piece, and needs another one.
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
