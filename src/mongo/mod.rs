//! The kit that rooms use to access MongoDB. No room calls the driver itself.
//!
//! - [`connect`]: the client of the process
//! - [`derived`]: a field that every update derives from others of its document
//! - `decoder`: decodes stored documents as types
//! - `driver`: the calls of the driver, each in its own task
//! - `sessions`: a pool of driver sessions
//! - `pool`: connection metrics
//! - [`stored`]: document types, their declaration, and the version of their shape
//! - [`migrations`]: the versions of documents, and their upgrades
//! - [`shape`]: descriptions of document types, for the documentation
//! - [`condition`]: conditions as values, from which guards and checks of read documents follow
//! - `comparison`: the comparison of values by which conditions are checked in memory
//! - [`collection`]: typed reads by key and writes, each one command
//! - [`lists`]: reads of lists
//! - [`swept`]: pages of lists for sweeps, in which a document that can't be decoded fails only itself
//! - `bulk`: writes of many documents by few commands, and walks through a collection
//! - `batcher`: batches items of many requests into few commands
//! - `answers`: channels for the answers to the items of a batch
//! - `batchers`: the batchers of one kind of item, by collection or lookup
//! - `queue`: the queue of a batcher, and when it is sent
//! - `scheduling`: how a future queues the items of batchers
//! - `loader`: the batched commands of one gateway, above all reads by key
//! - `shared_lists`: lists that several callers request at once
//! - `reader`: the command of a batch of reads by key
//! - `clock`: the primary's clock
//! - `lookup`: the kinds of reads by key that the loader batches
//! - `parts`: parts of documents that are read together by key
//! - [`counts`]: counters with many writers, batched over all requests; `additions` are what is added to them
//! - [`guarded`]: the guarded write and its three outcomes
//! - `appender`: inserts of documents that nothing refers to, batched over all requests
//! - `inserter`: inserts of single documents, batched over all requests
//! - `writer`: guarded writes, batched over all requests
//! - `statement`: a guarded write as a statement of a shared command
//! - `merging`: writes of one document whose changes are made by one stage
//! - `raw_writes`: write commands with `maxTimeMS` and without retryable-write sessions
//! - `numbered`: write commands with a number; MongoDB applies one copy of each
//! - `faults`: the server's errors of a command
//! - `shared_writes`: what the batched writes have in common
//! - `write_command`: how such a command is encoded, sent and answered
//! - [`placement`]: groups of collections, the database of each group, and its settings
//! - [`consistency`]: which reads a secondary may serve
//! - [`copies`]: versioned copies of a record in other documents
//! - [`gridfs`]: the contents of files, in chunks
//! - [`expression`]: the aggregation expressions of guards and updates
//! - [`keyset`]: keyset pages
//! - [`rollup`]: aggregations that are merged into another collection
//! - [`personal`]: declarations of the personal data in collections
//! - [`periods`]: collections whose names are made at run time, one for each period
//! - `recent`: suggestions that several callers share
//! - [`rings`]: capped collections that are followed by tailable cursors
//! - [`snapshot`]: reads of a whole database at one cluster time
//! - [`restoring`]: writes of a whole database
//! - [`terms`]: documents that are found by the beginnings of their words
//! - [`words`]: the words of a text, and typing errors in them
//! - [`time_series`]: MongoDB's time-series collections
//! - `whole`: reads of whole collections
//! - [`watch`]: one change stream per collection, any number of subscribers
//! - [`lazy_document`]: documents that decode only their selected fields
//! - `deferred`: parts of documents that are decoded when they are needed
//! - [`raw_bson`]: reads the bytes of stored documents in one pass
//! - [`indexes`]: declared indexes, and `index_plan`: their comparison with existing ones
//! - [`shards`]: the shard keys of collections
//! - [`observe`]: the commands that a request sent
//! - [`read_bytes`]: the bytes of the documents that a request has read
//! - [`explain`]: execution statistics of a read

mod additions;
mod answers;
mod appender;
mod batcher;
mod batchers;
mod bulk;
mod clock;
pub mod collection;
mod comparison;
pub mod condition;
pub mod connect;
pub mod consistency;
pub mod copies;
pub mod counts;
mod decoder;
mod deferred;
pub mod derived;
mod driver;
pub mod explain;
pub mod expression;
mod faults;
pub mod gridfs;
pub mod guarded;
mod index_plan;
pub mod indexes;
mod inserter;
pub mod keyset;
pub mod lazy_document;
pub mod lists;
mod loader;
mod lookup;
mod merging;
pub mod migrations;
mod numbered;
pub mod observe;
mod parts;
pub mod periods;
pub mod personal;
pub mod placement;
mod pool;
pub mod prelude;
mod queue;
pub mod raw_bson;
mod raw_writes;
pub mod read_bytes;
mod reader;
mod recent;
pub mod restoring;
pub mod rings;
pub mod rollup;
mod scheduling;
mod sessions;
pub mod shape;
pub mod shards;
mod shared_lists;
mod shared_writes;
pub mod snapshot;
mod statement;
pub mod stored;
pub mod swept;
pub mod terms;
pub mod time_series;
pub mod watch;
mod whole;
pub mod words;
mod write_command;
mod writer;

pub use appender::Rejected;
pub use bulk::Walk;
pub use collection::{Collection, Stored, Version};
pub use counts::Counters;
pub use deferred::Deferred;
pub use guarded::{Outcome, Sends};
pub use loader::Loader;
pub use parts::Parts;
pub use placement::{Group, Placement};
pub use scheduling::{batched, unhurried, within};
