//! Admission of connections, up to a total and up to a share per client. Beyond that a few connections are
//! admitted for a single response, so that operators can query health and metrics while all places are taken.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use tokio::net::TcpStream;

use super::{
    refusal::{SOON, answer, with_status},
    shares::{Client, Full, Held, Shares},
};
use crate::config::Config;

/// Maximum number of concurrent connections that get a single response.
const BRIEF: usize = 64;
/// Time limit for the head of their request.
pub(super) const BRIEF_HEAD: Duration = Duration::from_secs(1);
/// Time limit for the whole connection.
pub(super) const BRIEF_VISIT: Duration = Duration::from_secs(5);

/// The places for connections of one listener.
pub(super) struct Door {
    places: Arc<Shares>,
    brief: Arc<Shares>,
}

/// The place of a connection, released when it is dropped.
pub(super) struct Place {
    _held: Held,
    /// Why the connection gets only a single response, if so.
    pub(super) refused: Option<Full>,
}

impl Door {
    pub(super) fn of(config: &Config) -> Self {
        let shares = |all| Shares::of(all, config.client_share_percent);
        Self { places: shares(config.max_connections), brief: shares(BRIEF) }
    }

    /// Takes a place for a connection.
    ///
    /// # Errors
    /// No place is left, not even for a single response.
    pub(super) fn let_in(&self, peer: Option<Client>) -> Result<Place, Full> {
        match self.places.take(peer) {
            Ok(held) => Ok(Place { _held: held, refused: None }),
            Err(full) => {
                let held = self.brief.take(peer).map_err(|_full| full)?;
                Ok(Place { _held: held, refused: Some(full) })
            }
        }
    }
}

/// Whether a path serves operators: metrics or health.
pub(super) fn is_for_operators(path: &str) -> bool {
    path == "/metrics" || path.starts_with("/health/")
}

/// The single response to any other request.
pub(super) fn turned_away(full: Full) -> Response {
    answer(with_status(full.into()), SOON)
}

/// Responds to a connection before it is closed, if that is possible without waiting.
pub(super) fn refuse(stream: &TcpStream, full: Full) {
    let status = match full {
        Full::All => "503 Service Unavailable",
        Full::Share => "429 Too Many Requests",
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    let _unheard = stream.try_write(answer.as_bytes());
}
