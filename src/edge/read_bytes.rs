//! Counts the bytes of the documents that operations have read, until these have their responses. A document is counted
//! once it has arrived.

use std::sync::Arc;

use super::shares::{Client, Shares};
use crate::{config::Config, error::Error, mongo::read_bytes::Count};

/// Number of bytes that each operation may read without being counted, and by which the count grows. Most operations read
/// less.
const STEP: usize = 64 << 10;

/// The bytes of documents of the operations that are being executed.
pub(super) struct ReadBytes {
    all: Arc<Shares>,
    /// Maximum of one operation.
    of_one: usize,
}

impl ReadBytes {
    /// None yet; the limit is that of the configuration. One operation may have three quarters of it.
    pub(super) fn of(config: &Config) -> Self {
        let all = Shares::of(config.max_read_bytes, config.client_share_percent);
        Self { all, of_one: (config.max_read_bytes / 4 * 3).max(STEP) }
    }

    /// Counts the reads of an operation of a client as long as the count lives. At the limit they are refused. Those of a
    /// mutation are those of its result: what it reads itself isn't counted.
    pub(super) fn count(&self, client: Client, is_mutation: bool) -> Count {
        let (mut permit, of_one) = (self.all.empty(Some(client)), self.of_one);
        let mut bytes = 0_usize;
        Box::new(move |more| {
            let all = bytes.saturating_add(more);
            if all > of_one {
                let what = if is_mutation { "was executed, but its result reads" } else { "reads" };
                let reason = format!("{what} more than {of_one} bytes of documents");
                return Err(Error::TooComplex { limit: "max_read_bytes", reason });
            }
            if all > permit.units().max(STEP) {
                permit.grow(all.next_multiple_of(STEP).min(of_one) - permit.units())?;
            }
            bytes = all;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::edge::shares::Clients;

    #[test]
    fn documents_are_counted_until_the_operation_has_its_response() {
        let read = ReadBytes::of(&Config { max_read_bytes: 1 << 20, ..Config::default() });
        let client = |last| Clients::default().at(Ipv4Addr::new(127, 0, 0, last).into());
        let (one, other) = (client(1), client(2));
        let mut first = read.count(one, false);
        assert!(
            first(STEP).is_ok() && first(500_000).is_ok(),
            "more than the client's share, once"
        );
        let mut second = read.count(one, false);
        assert!(second(STEP).is_ok(), "a small read isn't counted");
        assert!(matches!(second(1), Err(Error::RateLimited(_))));
        let mut third = read.count(other, false);
        assert!(matches!(third(500_000), Err(Error::Overloaded)));
        assert!(third(200_000).is_ok(), "what was refused isn't counted");
        drop(first);
        assert!(second(1).is_ok());
    }

    #[test]
    fn one_operation_leaves_room_for_others() {
        let read = ReadBytes::of(&Config { max_read_bytes: 1 << 20, ..Config::default() });
        let client = |last| Clients::default().at(Ipv4Addr::new(127, 0, 0, last).into());
        let mut large = read.count(client(1), false);
        assert!(large(700_000).is_ok());
        let refused = large(100_000);
        assert!(matches!(refused, Err(Error::TooComplex { limit: "max_read_bytes", .. })));
        assert!(large(86_432).is_ok(), "three quarters");
        let mut other = read.count(client(2), false);
        assert!(other(256 << 10).is_ok(), "a quarter");
    }
}
