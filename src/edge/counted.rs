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

use super::{door, intake::Intake, shares::Full};

/// Error of a connection that exceeded the limit on received bytes.
#[derive(Debug, thiserror::Error)]
#[error("the limit on received bytes is exceeded: {0:?}")]
struct TooMuch(Full);

/// Whether a connection ended because it exceeded the limit on received bytes.
pub(super) fn is_too_much(fault: &io::Error) -> bool {
    fault.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<TooMuch>)
}

/// A TCP stream that counts the received bytes.
pub(super) struct Counted {
    stream: TcpStream,
    intake: Arc<Intake>,
    /// Whether a response has been written in part.
    is_writing: bool,
}

impl Counted {
    pub(super) fn new(stream: TcpStream, intake: Arc<Intake>) -> Self {
        Self { stream, intake, is_writing: false }
    }

    /// The error for a client that exceeded its limit. The client is told the reason if that is possible
    /// without waiting.
    fn refuse(&self, full: Full) -> io::Error {
        if self.intake.awaits_head() && !self.is_writing {
            door::refuse(&self.stream, full);
        }
        io::Error::other(TooMuch(full))
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.intake.reading();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = buffer.filled().len() - before;
        Poll::Ready(self.intake.read(bytes).map_err(|full| self.refuse(full)))
    }
}

impl AsyncWrite for Counted {
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
