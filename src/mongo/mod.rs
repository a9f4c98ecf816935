//! The kit that rooms use to talk to MongoDB. No room calls the driver itself.
//!
//! - `driver`: the calls of the driver, each in a task of its own
//! - [`collection`]: typed reads and inserts, each one command
//! - [`batch`], [`readers`]: reads by key and the server's clock, gathered over all requests
//! - [`counts`]: counts that many add to, gathered over all requests
//! - [`guarded`]: the guarded write and its three outcomes
//! - `plain`: writes without the record that MongoDB keeps of those which a driver may repeat
//! - [`flow`]: runs with a server deadline, op ids; the shape *take, decide, give, settle*
//! - [`copies`]: versioned copies of a record in other documents
//! - [`gridfs`]: the bytes of files, in chunks
//! - [`audiences`]: lists in which readers see different things
//! - [`expression`]: the few aggregation expressions that guards and updates are made of
//! - [`keyset`]: pages by the values of their sort keys
//! - [`lease`]: one holder at a time, with a server deadline
//! - [`tree`]: documents that carry copies of what stands above them
//! - [`watch`]: one change stream per collection, any number of subscribers
//! - [`view`]: documents of which only what is asked for is read
//! - [`indexes`]: declared against existing
//! - [`observe`]: which commands a request sent
//! - `sessions`: commands in sessions that are lent from one to the next
//! - `pool`: what operators can watch of the connections
//! - [`explain`]: what a read looks at
//! - [`Tally`]: what a pass of a sweep did

pub mod audiences;
mod batch;
pub mod collection;
pub mod connect;
pub mod copies;
pub mod counts;
mod driver;
pub mod elements;
pub mod explain;
pub mod expression;
pub mod flow;
pub mod gridfs;
pub mod guarded;
pub mod indexes;
pub mod keyset;
pub mod lease;
pub mod observe;
mod plain;
mod pool;
mod readers;
mod sessions;
mod tally;
pub mod tree;
pub mod view;
pub mod watch;

pub use collection::{Collection, Stored, Version};
pub use counts::Counters;
pub use flow::{Bounds, Run};
pub use guarded::Outcome;
pub use readers::Readers;
pub use tally::Tally;
