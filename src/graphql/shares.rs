//! Limits of the gateway as a whole, and the share of each that one client may use.
//!
//! The edge counts connections, requests, file transfers, event streams and bytes by this mechanism, and rooms what their
//! callers use together. A client that has used up its share is refused; other clients are still admitted. Where a
//! refusal wouldn't help, callers wait for their [turn](Turns) instead.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::requester::Requester;
use crate::{error::Error, locks::lock};

/// The unit of rates and shares: a subject, or without a token the network of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client(u64);

/// Makes clients from subjects and addresses. They are stored only as hashes with a key of this process,
/// because clients choose them.
#[derive(Default)]
pub struct Clients(RandomState);

impl Clients {
    /// The client of a request.
    pub fn of(&self, requester: Option<&Requester>, address: IpAddr) -> Client {
        match requester.and_then(|requester| requester.subject.as_ref()) {
            Some(subject) => Client(self.0.hash_one(subject)),
            None => self.at(address),
        }
    }

    /// The client of a caller: the one as which the edge has admitted the call. Callers without a token that didn't come over
    /// the network are one client.
    pub fn of_caller(&self, requester: &Requester) -> Client {
        requester.client.unwrap_or_else(|| Client(self.0.hash_one(&requester.subject)))
    }

    /// The client at an address.
    pub fn at(&self, address: IpAddr) -> Client {
        Client(self.0.hash_one(network(address)))
    }
}

/// The part of an address that identifies a client. For IPv6 it is the /64 network, because a client can use
/// any address in it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// The error for a limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// The total.
    Total,
    /// The client's share.
    Share,
}

impl From<LimitReached> for Error {
    fn from(reached: LimitReached) -> Self {
        match reached {
            LimitReached::Total => Self::Overloaded,
            LimitReached::Share => Self::rate_limited(
                "this client has reached its share of the limit; try again in a moment",
            ),
        }
    }
}

/// A limit with a share for each client.
pub struct Shares {
    total: usize,
    /// Maximum of one client.
    share: usize,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: usize,
    /// Usage by client, without zeros.
    by_client: HashMap<Client, usize>,
}

impl Shares {
    /// A limit of `total`, of which one client may use `percent` per cent, but at least one.
    pub fn of(total: usize, percent: usize) -> Arc<Self> {
        Arc::new(Self { total, share: share(total, percent), usage: Mutex::default() })
    }

    /// Acquires a permit for one unit. Without a client only the total is checked.
    ///
    /// # Errors
    /// The limit is reached; nothing has changed.
    pub fn acquire(self: &Arc<Self>, client: Option<Client>) -> Result<Permit, LimitReached> {
        self.acquire_units(client, 1)
    }

    /// Acquires a permit for several units. More than its share is permitted if the client has no other permit.
    ///
    /// # Errors
    /// The limit is reached; nothing has changed.
    pub fn acquire_units(
        self: &Arc<Self>,
        client: Option<Client>,
        units: usize,
    ) -> Result<Permit, LimitReached> {
        let mut permit = self.empty(client);
        permit.grow(units)?;
        Ok(permit)
    }

    /// A permit for no units yet; see [`Permit::grow`] and [`Permit::resize`].
    pub fn empty(self: &Arc<Self>, client: Option<Client>) -> Permit {
        Permit { of: Arc::clone(self), client, units: 0 }
    }

    fn check(&self, usage: &Usage, client: Option<Client>) -> Result<(), LimitReached> {
        match (usage.total > self.total, usage.of(client) > self.share) {
            (true, _) => Err(LimitReached::Total),
            (false, true) => Err(LimitReached::Share),
            (false, false) => Ok(()),
        }
    }
}

/// `percent` per cent of `total`, at least one.
pub fn share(total: usize, percent: usize) -> usize {
    total.saturating_mul(percent).div_ceil(100).max(1)
}

impl Usage {
    fn of(&self, client: Option<Client>) -> usize {
        client.and_then(|client| self.by_client.get(&client)).copied().unwrap_or_default()
    }

    fn add(&mut self, client: Option<Client>, units: usize) {
        self.total += units;
        if let Some(client) = client {
            *self.by_client.entry(client).or_default() += units;
        }
    }

    fn remove(&mut self, client: Option<Client>, units: usize) {
        self.total = self.total.saturating_sub(units);
        if let Some(Entry::Occupied(mut own)) = client.map(|client| self.by_client.entry(client)) {
            *own.get_mut() = own.get().saturating_sub(units);
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// The permit of a client to use units of a limit. The units are released when it is dropped.
pub struct Permit {
    of: Arc<Shares>,
    client: Option<Client>,
    units: usize,
}

impl Permit {
    /// Its number of units.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Acquires more units. More than its share is permitted if the client has no other permit.
    ///
    /// # Errors
    /// The limit is reached; nothing has changed.
    pub fn grow(&mut self, units: usize) -> Result<(), LimitReached> {
        let mut usage = lock(&self.of.usage);
        let is_only = usage.of(self.client) == self.units;
        usage.add(self.client, units);
        match self.of.check(&usage, self.client) {
            Err(reached) if reached == LimitReached::Total || !is_only => {
                usage.remove(self.client, units);
                Err(reached)
            }
            Ok(()) | Err(_) => {
                self.units += units;
                Ok(())
            }
        }
    }

    /// Changes the number of units. They are counted even if the limit is exceeded, because the bytes have
    /// already arrived.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub fn resize(&mut self, units: usize) -> Result<(), LimitReached> {
        if units == 0 && self.units == 0 {
            return Ok(());
        }
        let mut usage = lock(&self.of.usage);
        usage.remove(self.client, self.units);
        usage.add(self.client, units);
        self.units = units;
        self.of.check(&usage, self.client)
    }

    /// Transfers the units to another client.
    pub fn pass_to(&mut self, client: Option<Client>) {
        if self.units > 0 && self.client != client {
            let mut usage = lock(&self.of.usage);
            usage.remove(self.client, self.units);
            usage.add(client, self.units);
        }
        self.client = client;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.units > 0 {
            lock(&self.of.usage).remove(self.client, self.units);
        }
    }
}

/// A limit with a share for each client, of which callers get their turn in the order in which they came. A client's share
/// of it is busy only for the others of that client.
pub struct Turns {
    total: Arc<Semaphore>,
    share: usize,
    by_client: Mutex<HashMap<Client, Arc<Semaphore>>>,
}

/// A turn, which ends when it is dropped.
#[must_use = "the turn ends when it is dropped"]
pub struct Turn<'a> {
    of: &'a Turns,
    client: Client,
    permits: Option<[OwnedSemaphorePermit; 2]>,
}

impl Turns {
    /// `total` turns at once, of which one client may have `percent` per cent, but at least one.
    pub fn of(total: usize, percent: usize) -> Self {
        let (share, total) = (share(total, percent), Arc::new(Semaphore::new(total)));
        Self { total, share, by_client: Mutex::default() }
    }

    /// Waits for the client's turn.
    ///
    /// # Errors
    /// `Internal`; it doesn't happen.
    pub async fn wait(&self, client: Client) -> Result<Turn<'_>, Error> {
        // It is dropped at the end of the turn, or if the caller doesn't wait any longer.
        let mut turn = Turn { of: self, client, permits: None };
        let own = {
            let mut by_client = lock(&self.by_client);
            let own = by_client.entry(client);
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(self.share))))
        };
        let own = own.acquire_owned().await.map_err(Error::internal)?;
        let total = Arc::clone(&self.total).acquire_owned().await.map_err(Error::internal)?;
        turn.permits = Some([own, total]);
        Ok(turn)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut by_client = lock(&self.of.by_client);
        drop(self.permits.take());
        if let Entry::Occupied(own) = by_client.entry(self.client)
            && Arc::strong_count(own.get()) == 1
        {
            // Nobody else has a turn of this client or waits for one.
            own.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_client_may_exceed_its_share_once_and_the_total_never() {
        let shares = Shares::of(100, 25);
        let (one, other) = (Some(Client(1)), Some(Client(2)));
        let first = shares.acquire_units(one, 60).ok();
        assert!(first.is_some(), "it is the client's only use");
        assert_eq!(shares.acquire(one).err(), Some(LimitReached::Share));
        assert_eq!(shares.acquire_units(other, 41).err(), Some(LimitReached::Total));
        let second = shares.acquire_units(other, 40).ok();
        assert!(second.is_some());
        drop(first);
        assert!(shares.acquire_units(one, 60).is_ok());
    }

    #[test]
    fn callers_without_a_token_are_told_apart_by_their_address() {
        let clients = Clients::default();
        let at = |address: &str| {
            let client = clients.of(None, address.parse().expect("an address"));
            clients.of_caller(&Requester { client: Some(client), ..Requester::default() })
        };
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::2"), "a network is one client");
        let nowhere = || clients.of_caller(&Requester::default());
        assert_eq!(nowhere(), nowhere());
    }

    #[tokio::test]
    async fn a_client_waits_for_its_own_turns_and_not_for_those_of_others() {
        let turns = Turns::of(4, 25);
        let first = turns.wait(Client(1)).await.ok();
        assert!(first.is_some());
        let mut second = Box::pin(turns.wait(Client(1)));
        assert!(second.as_mut().now_or_never().is_none(), "its share is one turn");
        assert!(turns.wait(Client(2)).await.is_ok(), "another client has room");
        drop(first);
        assert!(second.await.is_ok());
        assert!(lock(&turns.by_client).is_empty(), "nothing is kept of clients without a turn");
    }
}
