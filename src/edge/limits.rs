//! How much one client, and all together, may ask for.

use std::{
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use axum::http::HeaderMap;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{config::Config, error::Error, graphql::requester::Requester};

/// How often rates of clients that are long gone are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// The limits of one gateway.
pub(super) struct Limits {
    /// By client; none where there is no limit.
    rates: Option<DefaultKeyedRateLimiter<u64>>,
    hasher: RandomState,
    hops: usize,
    under_way: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    /// How long a request may take.
    pub(super) time: Duration,
    /// How long a client may take to send a body.
    pub(super) receive: Duration,
    /// How long a file may take to come in or go out.
    pub(super) transfer: Duration,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        let per_second = NonZeroU32::new(config.requests_per_second);
        let burst = NonZeroU32::new(config.requests_burst);
        let quota = per_second.zip(burst);
        let quota = quota.map(|(rate, burst)| Quota::per_second(rate).allow_burst(burst));
        Self {
            rates: quota.map(RateLimiter::keyed),
            hasher: RandomState::new(),
            hops: config.forwarded_hops,
            under_way: Arc::new(Semaphore::new(config.max_requests)),
            transfers: Arc::new(Semaphore::new(config.max_transfers)),
            time: Duration::from_millis(config.request_millis),
            receive: Duration::from_millis(config.receive_millis),
            transfer: Duration::from_secs(config.asset_transfer_seconds),
        }
    }

    /// Lets a client's request in, unless it has sent more than its rate allows. `requester` is none where
    /// the token didn't hold.
    ///
    /// # Errors
    /// `RateLimited`.
    pub(super) fn admit(
        &self,
        requester: Option<&Requester>,
        address: IpAddr,
    ) -> Result<(), Error> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let key = match requester.and_then(|requester| requester.subject.as_ref()) {
            Some(subject) => self.hasher.hash_one(subject),
            None => self.hasher.hash_one(network(address)),
        };
        let admitted = rates.check_key(&key);
        admitted.map_err(|_| Error::RateLimited("too many requests: come again in a second"))
    }

    /// Room for one more request, given back when it is dropped.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(super) fn begin(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.under_way).try_acquire_owned().map_err(|_full| Error::Overloaded)
    }

    /// Room for one more file on its way in or out, given back when it is dropped.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(super) fn begin_transfer(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.transfers).try_acquire_owned().map_err(|_full| Error::Overloaded)
    }

    /// The address of a client: of the connection, or what the proxies in front say.
    pub(super) fn address(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let Some(nth) = self.hops.checked_sub(1) else { return peer };
        // As bytes: what a client writes before a proxy's entry must not make that unreadable.
        let lines = headers.get_all("x-forwarded-for").iter().rev();
        let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        entries.map(<[u8]>::trim_ascii).nth(nth).and_then(read_address).unwrap_or(peer)
    }

    /// Forgets the rates of clients that are gone, again and again.
    pub(super) async fn forget(&self) {
        let Some(rates) = &self.rates else { return };
        loop {
            tokio::time::sleep(FORGET).await;
            rates.retain_recent();
            rates.shrink_to_fit();
        }
    }
}

/// An address as proxies write it, some of them with a port.
fn read_address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(with_port)
}

/// What of an address is one client: of IPv6 the network, as a client has any number of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}
