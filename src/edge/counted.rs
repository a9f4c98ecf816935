//! A TCP stream that counts the received bytes.

use std::{
    error::Error,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{admission, received_bytes::ReceivedBytes, shares::LimitReached};

/// Error of a connection that exceeded the limit on received bytes.
#[derive(Debug, thiserror::Error)]
#[error("the limit on received bytes is exceeded: {0:?}")]
struct TooManyBytes(LimitReached);

/// Whether a connection ended because it exceeded the limit on received bytes.
pub(super) fn is_over_limit(fault: &io::Error) -> bool {
    fault.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<TooManyBytes>)
}

/// A TCP stream that counts the received bytes.
pub(super) struct CountedStream {
    stream: TcpStream,
    received: Arc<ReceivedBytes>,
    /// Whether a response has been written in part.
    is_writing: bool,
}

impl CountedStream {
    pub(super) fn new(stream: TcpStream, received: Arc<ReceivedBytes>) -> Self {
        Self { stream, received, is_writing: false }
    }

    /// The error for a client that exceeded its limit. The client gets a response if that is possible without
    /// waiting.
    fn reject(&self, reached: LimitReached) -> io::Error {
        if self.received.awaits_head() && !self.is_writing {
            admission::reject(&self.stream, reached);
        }
        io::Error::other(TooManyBytes(reached))
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.received.before_read();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = buffer.filled().len() - before;
        Poll::Ready(self.received.read(bytes).map_err(|reached| self.reject(reached)))
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_writing = true;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_writing = true;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // hyper flushes when it has nothing left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_writing = false;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
