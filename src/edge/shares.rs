//! Limits of the gateway as a whole, and the share of each that one client may use.
//!
//! Connections, requests, file transfers, event streams and bytes are all counted by this mechanism. A client that
//! has used up its share is refused; other clients are still admitted.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{error::Error, graphql::requester::Requester};

/// The unit of rates and shares: a subject, or without a token the network of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(u64);

/// Makes clients from subjects and addresses. They are stored only as hashes with a key of this process,
/// because clients choose them.
#[derive(Default)]
pub(super) struct Clients(RandomState);

impl Clients {
    /// The client of a request.
    pub(super) fn of(&self, requester: Option<&Requester>, address: IpAddr) -> Client {
        match requester.and_then(|requester| requester.subject.as_ref()) {
            Some(subject) => Client(self.0.hash_one(subject)),
            None => self.at(address),
        }
    }

    /// The client at an address.
    pub(super) fn at(&self, address: IpAddr) -> Client {
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
pub(super) enum LimitReached {
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
pub(super) struct Shares {
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
    pub(super) fn of(total: usize, percent: usize) -> Arc<Self> {
        Arc::new(Self { total, share: share(total, percent), usage: Mutex::default() })
    }

    /// Acquires a permit for one unit. Without a client only the total is checked.
    ///
    /// # Errors
    /// The limit is reached; nothing has changed.
    pub(super) fn acquire(
        self: &Arc<Self>,
        client: Option<Client>,
    ) -> Result<Permit, LimitReached> {
        let mut usage = self.usage();
        usage.add(client, 1);
        if let Err(reached) = self.check(&usage, client) {
            usage.remove(client, 1);
            return Err(reached);
        }
        Ok(Permit { of: Arc::clone(self), client, units: 1 })
    }

    /// A permit for no units yet; see [`Permit::resize`].
    pub(super) fn empty(self: &Arc<Self>, client: Option<Client>) -> Permit {
        Permit { of: Arc::clone(self), client, units: 0 }
    }

    fn check(&self, usage: &Usage, client: Option<Client>) -> Result<(), LimitReached> {
        let own = client.and_then(|client| usage.by_client.get(&client));
        let own = own.copied().unwrap_or_default();
        match (usage.total > self.total, own > self.share) {
            (true, _) => Err(LimitReached::Total),
            (false, true) => Err(LimitReached::Share),
            (false, false) => Ok(()),
        }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `percent` per cent of `total`, at least one.
pub(super) fn share(total: usize, percent: usize) -> usize {
    total.saturating_mul(percent).div_ceil(100).max(1)
}

impl Usage {
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
pub(super) struct Permit {
    of: Arc<Shares>,
    client: Option<Client>,
    units: usize,
}

impl Permit {
    /// Changes the number of units. They are counted even if the limit is exceeded, because the bytes have
    /// already arrived.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub(super) fn resize(&mut self, units: usize) -> Result<(), LimitReached> {
        if units == 0 && self.units == 0 {
            return Ok(());
        }
        let mut usage = self.of.usage();
        usage.remove(self.client, self.units);
        usage.add(self.client, units);
        self.units = units;
        self.of.check(&usage, self.client)
    }

    /// Transfers the units to another client.
    pub(super) fn pass_to(&mut self, client: Option<Client>) {
        if self.units > 0 && self.client != client {
            let mut usage = self.of.usage();
            usage.remove(self.client, self.units);
            usage.add(client, self.units);
        }
        self.client = client;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.units > 0 {
            self.of.usage().remove(self.client, self.units);
        }
    }
}
