//! What nearly every store and document of a room needs: `use crate::mongo::prelude::*`.

pub(crate) use mongodb::bson::{Bson, DateTime, Document, doc};
pub(crate) use serde::{Deserialize, Serialize};

pub(crate) use super::{
    Collection, Deferred, Group, Outcome, Stored, Version,
    collection::List,
    condition::*,
    driver::decode_document,
    expression::*,
    guarded::Guarded,
    indexes::Index,
    lists::EXAMINING,
    shards::ShardKey,
    stored::document,
    swept::{Swept, SweptPage},
};
