//! How much one client, and all together, may ask for.

use std::{
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use axum::http::HeaderMap;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::shares::{Client, Clients, Held, Shares};
use crate::{config::Config, error::Error, graphql::requester::Requester};

/// How often rates of clients that are long gone are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// The limits of one gateway.
pub(super) struct Limits {
    /// By client; none where there is no limit.
    rates: Option<DefaultKeyedRateLimiter<Client>>,
    clients: Clients,
    hops: usize,
    under_way: Arc<Shares>,
    transfers: Arc<Shares>,
    /// Bytes of requests that came and aren't done with.
    received: Arc<Shares>,
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
        let shares = |all| Shares::of(all, config.client_share_percent);
        Self {
            rates: quota.map(RateLimiter::keyed),
            clients: Clients::default(),
            hops: config.forwarded_hops,
            under_way: shares(config.max_requests),
            transfers: shares(config.max_transfers),
            received: shares(config.max_received_bytes),
            time: Duration::from_millis(config.request_millis),
            receive: Duration::from_millis(config.receive_millis),
            transfer: Duration::from_secs(config.asset_transfer_seconds),
        }
    }

    /// Lets a client's request in, unless it has sent more than its rate allows.
    ///
    /// # Errors
    /// `RateLimited`.
    pub(super) fn admit(&self, client: Client) -> Result<(), Error> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let admitted = rates.check_key(&client);
        admitted.map_err(|_| Error::RateLimited("too many requests: come again in a second"))
    }

    /// Room for one more request, given back when it is dropped.
    ///
    /// # Errors
    /// `Overloaded`, or `RateLimited` where the client has its share.
    pub(super) fn begin(&self, client: Client) -> Result<Held, Error> {
        Ok(self.under_way.take(Some(client))?)
    }

    /// Room for one more file on its way in or out, given back when it is dropped.
    ///
    /// # Errors
    /// `Overloaded`, or `RateLimited` where the client has its share.
    pub(super) fn begin_transfer(&self, client: Client) -> Result<Held, Error> {
        Ok(self.transfers.take(Some(client))?)
    }

    /// What a connection sends from now on.
    pub(super) fn receive_from(&self, peer: Option<Client>) -> Held {
        self.received.none(peer)
    }

    /// Who sent a request; without a token, or with one that doesn't hold, whoever is at its address.
    pub(super) fn client(&self, requester: Option<&Requester>, address: IpAddr) -> Client {
        self.clients.of(requester, address)
    }

    /// Who is at the other end of a connection. Of a proxy's the client isn't known before its request.
    pub(super) fn peer(&self, peer: IpAddr) -> Option<Client> {
        (self.hops == 0).then(|| self.clients.at(peer))
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
