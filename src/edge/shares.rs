//! What is bounded for the gateway as a whole, and how much of it one client may have.
//!
//! Connections, requests, files on their way, event streams and bytes are all counted here. A client that
//! has its share is refused while the others still find room.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{error::Error, graphql::requester::Requester};

/// Who has a rate and a share: a subject, or without a token the network that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(u64);

/// Tells clients apart. What they choose themselves is only kept as a hash with a key of this process.
#[derive(Default)]
pub(super) struct Clients(RandomState);

impl Clients {
    /// Who sent a request.
    pub(super) fn of(&self, requester: Option<&Requester>, address: IpAddr) -> Client {
        match requester.and_then(|requester| requester.subject.as_ref()) {
            Some(subject) => Client(self.0.hash_one(subject)),
            None => self.at(address),
        }
    }

    /// Whoever is at an address.
    pub(super) fn at(&self, address: IpAddr) -> Client {
        Client(self.0.hash_one(network(address)))
    }
}

/// What of an address is one client: of IPv6 the network, as a client has any number of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Why there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The gateway has as much as it takes on.
    All,
    /// The client has its share.
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

/// A number of something that clients share.
pub(super) struct Shares {
    all: usize,
    /// One client's.
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Clients that have something.
    by: HashMap<Client, usize>,
}

impl Shares {
    /// `all` of them, of which one client may have so many in a hundred, and one in any case.
    pub(super) fn of(all: usize, percent: usize) -> Arc<Self> {
        Arc::new(Self { all, each: share(all, percent), taken: Mutex::default() })
    }

    /// One of them, given back when it is dropped. Who can't be told apart has no share of its own.
    ///
    /// # Errors
    /// There is none left; nothing has changed.
    pub(super) fn take(self: &Arc<Self>, client: Option<Client>) -> Result<Held, Full> {
        let mut taken = self.taken();
        taken.add(client, 1);
        if let Err(full) = self.check(&taken, client) {
            taken.remove(client, 1);
            return Err(full);
        }
        Ok(Held { of: Arc::clone(self), client, many: 1 })
    }

    /// None of them yet.
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

/// So many in a hundred, and one in any case.
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

/// What a client has of something; given back when it is dropped.
pub(super) struct Held {
    of: Arc<Shares>,
    client: Option<Client>,
    many: usize,
}

impl Held {
    /// It is so many now. What is there already is counted also where it is too much.
    ///
    /// # Errors
    /// It is too much.
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

    /// It is another client's.
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
