//! Counts the bytes of the documents that operations have read, until these have their responses.

use std::sync::Arc;

use super::shares::{Client, Shares};
use crate::{config::Config, mongo::read_bytes::Count};

/// Number of bytes that each operation may read without being counted, and by which the count grows. Most operations read
/// less.
const STEP: usize = 64 << 10;

/// The bytes of documents of the operations that are being executed.
pub(super) struct ReadBytes(Arc<Shares>);

impl ReadBytes {
    /// None yet; the limit is that of the configuration.
    pub(super) fn of(config: &Config) -> Self {
        Self(Shares::of(config.max_read_bytes, config.client_share_percent))
    }

    /// Counts the reads of an operation of a client as long as the count lives. If the limit is reached, a query's reads are
    /// refused. Those of a mutation aren't: they are small, and it would have to be finished later.
    pub(super) fn count(&self, client: Client, is_mutation: bool) -> Count {
        let (mut permit, mut bytes) = (self.0.empty(Some(client)), 0_usize);
        Box::new(move |more| {
            let all = bytes.saturating_add(more);
            if all > permit.units().max(STEP) {
                let counted = all.next_multiple_of(STEP);
                if is_mutation {
                    let _counted_all_the_same = permit.resize(counted);
                } else {
                    permit.grow(counted - permit.units())?;
                }
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
    use crate::{edge::shares::Clients, error::Error};

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
        let mut mutation = read.count(one, true);
        assert!(mutation(100_000).is_ok());
        let mut third = read.count(other, false);
        assert!(matches!(third(500_000), Err(Error::Overloaded)));
        assert!(third(200_000).is_ok(), "what was refused isn't counted");
        drop((first, mutation));
        assert!(second(1).is_ok());
    }
}
