//! Counts the bytes of large responses until the connection has taken them. Over many connections a client that reads slowly
//! would otherwise have the gateway keep as many of them.

use std::sync::Arc;

use bytes::Bytes;

use super::shares::{Client, LimitReached, Permit, Shares};
use crate::config::Config;

/// Maximum size in bytes of a response that isn't counted. Most responses are smaller.
const UNCOUNTED: usize = 64 << 10;

/// The bytes of responses that aren't sent yet, over all connections.
#[derive(Clone)]
pub(super) struct Unsent(Arc<Shares>);

impl Unsent {
    /// None yet; the limit is that of the configuration.
    pub(super) fn of(config: &Config) -> Self {
        Self(Shares::of(config.max_unsent_bytes, config.client_share_percent))
    }

    /// Counts so many bytes of a response to a client, as long as the permit lives.
    ///
    /// # Errors
    /// The limit is reached.
    pub(super) fn hold(
        &self,
        client: Client,
        bytes: usize,
    ) -> Result<Option<Permit>, LimitReached> {
        if bytes <= UNCOUNTED {
            return Ok(None);
        }
        self.0.acquire_units(Some(client), bytes).map(Some)
    }

    /// The text of a response, which is counted as long as the connection has it.
    ///
    /// # Errors
    /// The limit is reached.
    pub(super) fn counted(&self, client: Client, text: Bytes) -> Result<Bytes, LimitReached> {
        Ok(match self.hold(client, text.len())? {
            Some(permit) => Bytes::from_owner(Counted { text, _permit: permit }),
            None => text,
        })
    }
}

/// A text with its permit.
struct Counted {
    text: Bytes,
    _permit: Permit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::edge::shares::Clients;

    #[test]
    fn a_response_is_counted_until_all_of_it_was_taken() {
        let max_unsent_bytes = 1_000_000;
        let unsent = Unsent::of(&Config { max_unsent_bytes, ..Config::default() });
        let client = Clients::default().at(Ipv4Addr::LOCALHOST.into());
        let response = |size: usize| unsent.counted(client, vec![0; size].into());
        let mut first = response(200_000).expect("a response");
        assert_eq!(response(200_000).expect_err("more than a quarter"), LimitReached::Share);
        assert_eq!(response(UNCOUNTED).expect("a small one").len(), UNCOUNTED);
        drop(first.split_to(150_000));
        assert!(response(200_000).is_err());
        drop(first);
        assert!(response(200_000).is_ok());
    }
}
