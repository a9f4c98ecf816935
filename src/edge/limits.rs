//! Limits on rates and concurrency, per client and in total.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use axum::http::HeaderMap;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    read_bytes::ReadBytes,
    rounds::Rounds,
    shares::{Client, Clients, Permit, Shares},
    unsent::Unsent,
};
use crate::{config::Config, error::Error, graphql::requester::Requester};

/// Interval in which the rates of inactive clients are removed.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// What a subscription takes up in addition to its request, at least, in bytes.
const EACH_SUBSCRIPTION: usize = 1 << 10;

/// What resizing takes up: processors, and memory in proportion to the pixels. The picture that has waited longest gets its
/// turn next.
#[derive(Clone)]
pub(super) struct Resizers {
    processors: Arc<Semaphore>,
    /// Pixels of all pictures that are resized at the same time.
    pixels: Arc<Semaphore>,
}

impl Resizers {
    fn of(config: &Config) -> Self {
        let pixels = usize::try_from(config.asset_pixels).unwrap_or(Semaphore::MAX_PERMITS);
        let pixels = pixels.min(Semaphore::MAX_PERMITS);
        let processors = Arc::new(Semaphore::new(config.resizes_at_once));
        Self { processors, pixels: Arc::new(Semaphore::new(pixels)) }
    }

    /// Waits for the turn of a picture of so many pixels, at most `asset_pixels`. The turn ends when it is dropped.
    ///
    /// # Errors
    /// `Internal`; it doesn't happen.
    pub(super) async fn turn(self, pixels: u32) -> Result<[OwnedSemaphorePermit; 2], Error> {
        let processor = self.processors.acquire_owned().await.map_err(Error::internal)?;
        let pixels = self.pixels.acquire_many_owned(pixels).await.map_err(Error::internal)?;
        Ok([processor, pixels])
    }
}

/// The limits of one gateway.
pub(super) struct Limits {
    /// Rates by client; none if rates aren't limited.
    rates: Option<DefaultKeyedRateLimiter<Client>>,
    /// Maximum number of requests of a client at once, if rates are limited.
    burst: u32,
    clients: Clients,
    hops: usize,
    requests: Arc<Shares>,
    transfers: Arc<Shares>,
    /// Pictures that are being resized or wait for it.
    resizes: Arc<Shares>,
    resizers: Resizers,
    /// Bytes of requests that were received and not yet finished.
    received: Arc<Shares>,
    /// Bytes of documents of operations that have no response yet.
    pub(super) read_bytes: ReadBytes,
    /// Bytes of responses that aren't sent yet.
    pub(super) unsent: Unsent,
    /// Bytes of the requests of open subscriptions.
    subscriptions: Arc<Shares>,
    /// The rounds in which subscriptions are woken.
    pub(super) rounds: Arc<Rounds>,
    /// Time limit of a request.
    pub(super) time: Duration,
    /// Time limit for receiving a body.
    pub(super) receive: Duration,
    /// Time limit of an upload or a download.
    pub(super) transfer: Duration,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        let per_second = NonZeroU32::new(config.requests_per_second);
        let burst = NonZeroU32::new(config.requests_burst);
        let quota = per_second.zip(burst);
        let quota = quota.map(|(rate, burst)| Quota::per_second(rate).allow_burst(burst));
        let shares = |all| Shares::of(all, config.client_share_percent);
        Self {
            rates: quota.map(RateLimiter::keyed),
            burst: config.requests_burst,
            clients: Clients::default(),
            hops: config.forwarded_hops,
            requests: shares(config.max_requests),
            transfers: shares(config.max_transfers),
            resizes: shares(config.max_resizes),
            resizers: Resizers::of(config),
            received: shares(config.max_received_bytes),
            read_bytes: ReadBytes::of(config),
            unsent: Unsent::of(config),
            subscriptions: shares(config.live_subscription_bytes),
            rounds: Arc::default(),
            time: Duration::from_millis(config.request_millis),
            receive: Duration::from_millis(config.receive_millis),
            transfer: Duration::from_secs(config.asset_transfer_seconds),
        }
    }

    /// Charges one request to the client's rate.
    ///
    /// # Errors
    /// `RateLimited` if the rate is exceeded.
    pub(super) fn admit(&self, client: Client) -> Result<(), Error> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let admitted = rates.check_key(&client);
        admitted.map_err(|_| too_many())
    }

    /// Charges the operations of a batch to the client's rate, all of them or none. The first one was charged with the request.
    ///
    /// # Errors
    /// `RateLimited` if the rate is exceeded; `BadInput` if there are more of them than the rate ever has room for.
    pub(super) fn admit_batch(&self, client: Client, operations: usize) -> Result<(), Error> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let (operations, most) = (u32::try_from(operations).unwrap_or(u32::MAX), self.burst);
        if operations > most {
            let reason =
                format!("has more than {most} operations, which a client can't send at once");
            return Err(Error::bad_input("body", reason));
        }
        let Some(others) = NonZeroU32::new(operations.saturating_sub(1)) else { return Ok(()) };
        let admitted = rates.check_key_n(&client, others).is_ok_and(|admitted| admitted.is_ok());
        if admitted { Ok(()) } else { Err(too_many()) }
    }

    /// Acquires a permit for a concurrent request.
    ///
    /// # Errors
    /// `Overloaded` if the limit is reached, `RateLimited` if the client's share is used up.
    pub(super) fn begin(&self, client: Client) -> Result<Permit, Error> {
        Ok(self.requests.acquire(Some(client))?)
    }

    /// Acquires a permit for a subscription whose request has so many bytes.
    ///
    /// # Errors
    /// `Overloaded` if the limit is reached, `RateLimited` if the client's share is used up.
    pub(super) fn begin_subscription(&self, client: Client, bytes: usize) -> Result<Permit, Error> {
        Ok(self.subscriptions.acquire_units(Some(client), bytes + EACH_SUBSCRIPTION)?)
    }

    /// Acquires a permit for a concurrent upload or download.
    ///
    /// # Errors
    /// `Overloaded` if the limit is reached, `RateLimited` if the client's share is used up.
    pub(super) fn begin_transfer(&self, client: Client) -> Result<Permit, Error> {
        Ok(self.transfers.acquire(Some(client))?)
    }

    /// Acquires a permit for a picture to resize, and the place in which it waits for its turn.
    ///
    /// # Errors
    /// `Overloaded` if the limit is reached, `RateLimited` if the client's share is used up.
    pub(super) fn begin_resize(&self, client: Client) -> Result<(Permit, Resizers), Error> {
        Ok((self.resizes.acquire(Some(client))?, self.resizers.clone()))
    }

    /// Starts counting the bytes of a connection.
    pub(super) fn receive_from(&self, peer: Option<Client>) -> Permit {
        self.received.empty(peer)
    }

    /// The client of a request: the subject of a valid token, otherwise the address.
    pub(super) fn client(&self, requester: Option<&Requester>, address: IpAddr) -> Client {
        self.clients.of(requester, address)
    }

    /// The client of a connection. Behind a proxy it isn't known before the first request.
    pub(super) fn peer(&self, peer: IpAddr) -> Option<Client> {
        (self.hops == 0).then(|| self.clients.at(peer))
    }

    /// The address of a client: that of the connection, or the entry of `X-Forwarded-For` that
    /// `forwarded_hops` selects.
    pub(super) fn address(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let Some(nth) = self.hops.checked_sub(1) else { return peer };
        // Parsed as bytes, so that invalid text from the client doesn't hide a proxy's entry.
        let lines = headers.get_all("x-forwarded-for").iter().rev();
        let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        entries.map(<[u8]>::trim_ascii).nth(nth).and_then(read_address).unwrap_or(peer)
    }

    /// Removes the rates of inactive clients at intervals.
    pub(super) async fn forget_inactive(&self) {
        let Some(rates) = &self.rates else { return };
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            rates.retain_recent();
            rates.shrink_to_fit();
        }
    }
}

fn too_many() -> Error {
    Error::rate_limited("too many requests; try again in a second")
}

/// An address as proxies write it, with or without a port. Some write one of IPv6 in brackets also without a port.
fn read_address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let in_brackets = || {
        let address: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        Some(IpAddr::V6(address))
    };
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}
