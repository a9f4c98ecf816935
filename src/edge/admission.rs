//! Admission of connections, up to a total and up to a share per client. Beyond either limit, a few connections are
//! admitted for a single response, so that operators can always query health and metrics.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use tokio::net::TcpStream;

use super::{
    error_response::{SOON, answer, with_status},
    shares::{Client, LimitReached, Permit, Shares},
};
use crate::config::Config;

/// Maximum number of concurrent connections that get a single response.
const MAX_SINGLE: usize = 64;
/// Time limit for the head of their request.
pub(super) const SINGLE_HEAD_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for the whole connection.
pub(super) const SINGLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection limit of one listener.
pub(super) struct ConnectionLimit {
    connections: Arc<Shares>,
    /// Connections beyond the limit, which get a single response.
    single: Arc<Shares>,
}

/// The permit of a connection.
pub(super) struct Admission {
    _permit: Permit,
    /// The reached limit, if the connection gets only a single response.
    pub(super) over_limit: Option<LimitReached>,
}

impl ConnectionLimit {
    pub(super) fn of(config: &Config) -> Self {
        let shares = |all| Shares::of(all, config.client_share_percent);
        Self { connections: shares(config.max_connections), single: shares(MAX_SINGLE) }
    }

    /// Admits a connection.
    ///
    /// # Errors
    /// Both limits are reached: that of connections and that of single responses.
    pub(super) fn admit(&self, peer: Option<Client>) -> Result<Admission, LimitReached> {
        match self.connections.acquire(peer) {
            Ok(permit) => Ok(Admission { _permit: permit, over_limit: None }),
            Err(reached) => {
                let permit = self.single.acquire(peer).map_err(|_reached| reached)?;
                Ok(Admission { _permit: permit, over_limit: Some(reached) })
            }
        }
    }
}

/// Whether a path serves operators: metrics or health.
pub(super) fn is_for_operators(path: &str) -> bool {
    path == "/metrics" || path.starts_with("/health/")
}

/// The single response to a request that isn't for operators.
pub(super) fn limit_response(reached: LimitReached) -> Response {
    answer(with_status(reached.into()), SOON)
}

/// Responds to a connection before it is closed, if that is possible without waiting.
pub(super) fn reject(stream: &TcpStream, reached: LimitReached) {
    let status = match reached {
        LimitReached::Total => "503 Service Unavailable",
        LimitReached::Share => "429 Too Many Requests",
    };
    let response = format!(
        "HTTP/1.1 {status}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    let _unsent = stream.try_write(response.as_bytes());
}
