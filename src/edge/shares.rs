//! Limits of the gateway as a whole, and the share of each that one client may use.
//!
//! Connections, requests, file transfers, event streams and bytes are all counted here. A client that has
//! used up its share is refused, while others are still admitted.

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

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The total.
    All,
    /// The client's share.
    Share,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::All => Self::Overloaded,
            Full::Share => Self::RateLimited(
                "this client has as much under way as it may: come again in a moment",
            ),
        }
    }
}

/// A limit with a share for each client.
pub(super) struct Shares {
    all: usize,
    /// Maximum of one client.
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Use by client, without zeros.
    by: HashMap<Client, usize>,
}

impl Shares {
    /// A limit of `all`, of which one client may use `percent` per cent, but at least one.
    pub(super) fn of(all: usize, percent: usize) -> Arc<Self> {
        Arc::new(Self { all, each: share(all, percent), taken: Mutex::default() })
    }

    /// Takes one unit, released when it is dropped. Without a client only the total is checked.
    ///
    /// # Errors
    /// The limit is reached; nothing has changed.
    pub(super) fn take(self: &Arc<Self>, client: Option<Client>) -> Result<Held, Full> {
        let mut taken = self.taken();
        taken.add(client, 1);
        if let Err(full) = self.check(&taken, client) {
            taken.remove(client, 1);
            return Err(full);
        }
        Ok(Held { of: Arc::clone(self), client, many: 1 })
    }

    /// A hold on no units yet.
    pub(super) fn none(self: &Arc<Self>, client: Option<Client>) -> Held {
        Held { of: Arc::clone(self), client, many: 0 }
    }

    fn check(&self, taken: &Taken, client: Option<Client>) -> Result<(), Full> {
        let own = client.and_then(|client| taken.by.get(&client)).copied().unwrap_or_default();
        match (taken.all > self.all, own > self.each) {
            (true, _) => Err(Full::All),
            (false, true) => Err(Full::Share),
            (false, false) => Ok(()),
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `percent` per cent of `all`, at least one.
pub(super) fn share(all: usize, percent: usize) -> usize {
    all.saturating_mul(percent).div_ceil(100).max(1)
}

impl Taken {
    fn add(&mut self, client: Option<Client>, many: usize) {
        self.all += many;
        if let Some(client) = client {
            *self.by.entry(client).or_default() += many;
        }
    }

    fn remove(&mut self, client: Option<Client>, many: usize) {
        self.all = self.all.saturating_sub(many);
        if let Some(Entry::Occupied(mut own)) = client.map(|client| self.by.entry(client)) {
            *own.get_mut() = own.get().saturating_sub(many);
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// Units held by a client, released when they are dropped.
pub(super) struct Held {
    of: Arc<Shares>,
    client: Option<Client>,
    many: usize,
}

impl Held {
    /// Changes the number of units. They are counted even if the limit is exceeded, because the bytes are
    /// already there.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub(super) fn resize(&mut self, many: usize) -> Result<(), Full> {
        if many == 0 && self.many == 0 {
            return Ok(());
        }
        let mut taken = self.of.taken();
        taken.remove(self.client, self.many);
        taken.add(self.client, many);
        self.many = many;
        self.of.check(&taken, self.client)
    }

    /// Transfers the units to another client.
    pub(super) fn pass_to(&mut self, client: Option<Client>) {
        if self.many > 0 && self.client != client {
            let mut taken = self.of.taken();
            taken.remove(self.client, self.many);
            taken.add(client, self.many);
        }
        self.client = client;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.many > 0 {
            self.of.taken().remove(self.client, self.many);
        }
    }
}
