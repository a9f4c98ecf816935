//! What nearly every resolver, type and operation of a room needs: `use crate::graphql::prelude::*`.

pub(crate) use async_graphql::ID;

pub(crate) use super::{
    app,
    codes::refusal,
    cx::{Cx, cx},
    declared::{Input, input},
    fields::{object, queries, subscriptions},
    input::{self, TOP},
    mutations::{mutations, result},
    node_id::NodeKind,
    page::{BoundedConnection, Connection, Order, Page, Paging, paging},
    refusals::{AlreadyExists, Answer, Conflict, InUse, InvalidInput, NotFound, Stop, Unusable},
    requester::{Requester, Role, Who},
    scalars::{CurrencyCode, Date, LocaleTag, Long, Money, Slug},
};
pub(crate) use crate::{
    app::App,
    error::{Error, Result},
    flow::{Attempt, Change, Op, OtherInput, Step, Verdict, decide},
};
