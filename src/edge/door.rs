//! Who is let in: connections up to a bound and up to each client's share, and a few beside these that get
//! one answer. So operators can ask how the gateway is while others hold all the places.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use tokio::net::TcpStream;

use super::{
    refusal::{SOON, answer, with_status},
    shares::{Client, Full, Held, Shares},
};
use crate::config::Config;

/// Connections that get one answer, at the same time.
const BRIEF: usize = 64;
/// How long these may take for the head of their request.
pub(super) const BRIEF_HEAD: Duration = Duration::from_secs(1);
/// How long they may take at all.
pub(super) const BRIEF_VISIT: Duration = Duration::from_secs(5);

/// The places of a listener.
pub(super) struct Door {
    places: Arc<Shares>,
    brief: Arc<Shares>,
}

/// A connection's place, held until it ends.
pub(super) struct Place {
    _held: Held,
    /// Why it gets one answer alone.
    pub(super) refused: Option<Full>,
}

impl Door {
    pub(super) fn of(config: &Config) -> Self {
        let shares = |all| Shares::of(all, config.client_share_percent);
        Self { places: shares(config.max_connections), brief: shares(BRIEF) }
    }

    /// A place for a connection.
    ///
    /// # Errors
    /// There is none, not even for one answer.
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

/// Whether somebody asks how the gateway is.
pub(super) fn is_for_operators(path: &str) -> bool {
    path == "/metrics" || path.starts_with("/health/")
}

/// The one answer to anybody else.
pub(super) fn turned_away(full: Full) -> Response {
    answer(with_status(full.into()), SOON)
}

/// Says that a connection is ended, as far as that can be done without waiting.
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
