//! The subscription to new orders.
//!
//! The change hub tells only that an order was inserted. So each pass reads the recent orders, and leaves out those
//! that it has sent. An order has the time of its checkout's attempt, and is inserted at most two grace periods later.
//! Therefore a pass reads the orders from two grace periods before the previous pass on.

use std::{collections::HashSet, mem, sync::Arc, vec};

use futures_util::Stream;
use mongodb::bson::DateTime;

use super::super::{
    documents::{OrderDocument, PlacedOrder},
    store::{self, orders},
    types::Order,
};
use crate::{
    flow::earlier,
    graphql::{prelude::*, subscription::Progress},
};

/// Number of orders whose ids one command reads.
const BATCH: i64 = 500;

/// Orders as they are placed. With `from`, those since then come first, oldest first.
pub fn order_placed(
    cx: Cx<'_>,
    from: Option<DateTime>,
    progress: Arc<Progress>,
) -> impl Stream<Item = async_graphql::Result<Order>> + use<> {
    // `PLACED` is the state in which orders are inserted, and to which none returns. The subscription begins before the
    // first read, so that no order is missed.
    let mut changes = cx.hub().watch_topic::<OrderDocument>("state", "PLACED");
    let mut placed = Placed::since(cx.app.clone(), from);
    async_stream::stream! {
        loop {
            // Its counters aren't needed: a pass finds every order.
            let _counted = changes.take();
            loop {
                match placed.next().await {
                    Ok(Some(order)) => yield Ok(Order::from(order)),
                    Ok(None) => break,
                    Err(error) => {
                        yield Err(error.into());
                        return;
                    }
                }
            }
            progress.wait();
            if !changes.changed().await {
                return;
            }
        }
    }
}

/// The passes of one subscriber.
struct Placed {
    app: App,
    /// Time from which this pass reads. `None` until the first pass of a subscriber that wants only later orders.
    from: Option<DateTime>,
    /// Time from which the next pass reads, once this one has begun.
    next_from: Option<DateTime>,
    /// Orders that were sent, or that were there at the beginning, of the time that this pass reads.
    seen: HashSet<String>,
    /// The same of the time that the next pass reads.
    still_seen: HashSet<String>,
    /// Whether this pass only notes what is there.
    is_silent: bool,
    /// The rest of the last batch.
    batch: vec::IntoIter<PlacedOrder>,
    /// The last order of this pass so far.
    last: Option<PlacedOrder>,
    /// Whether the last batch was the last one of this pass.
    is_end: bool,
}

impl Placed {
    fn since(app: App, from: Option<DateTime>) -> Self {
        // A client resumes from the time of the last order that it got. Orders from before it may have come later.
        let lateness = app.bounds().two_grace_periods();
        Self {
            from: from.map(|from| earlier(from, lateness)),
            app,
            next_from: None,
            seen: HashSet::new(),
            still_seen: HashSet::new(),
            is_silent: from.is_none(),
            batch: Vec::new().into_iter(),
            last: None,
            is_end: false,
        }
    }

    /// The next new order of this pass. `None` ends the pass.
    async fn next(&mut self) -> Result<Option<OrderDocument>> {
        loop {
            while let Some(entry) = self.batch.next() {
                self.last = Some(entry.clone());
                if self.is_silent || self.seen.contains(&entry.id) {
                    self.note(entry);
                    continue;
                }
                // An order that no majority holds yet isn't noted: the change hub tells of it later.
                let Some(order) = orders(&self.app).get_settled(&entry.id).await? else { continue };
                self.note(entry);
                if !order.deleted {
                    return Ok(Some(order));
                }
            }
            if mem::take(&mut self.is_end) {
                self.end();
                return Ok(None);
            }
            self.read().await?;
        }
    }

    /// Reads the next batch, at the beginning of a pass with the time of the next one.
    async fn read(&mut self) -> Result<()> {
        if self.next_from.is_none() {
            let now = self.app.begin().await?.now();
            let recent = earlier(now, self.app.bounds().two_grace_periods());
            self.next_from = Some(self.from.map_or(recent, |from| from.max(recent)));
            self.from = self.from.or(self.next_from);
        }
        let from = self.from.unwrap_or(DateTime::MIN);
        let batch = store::list_placed(&self.app, from, self.last.as_ref(), BATCH).await?;
        self.is_end = i64::try_from(batch.len()) != Ok(BATCH);
        self.batch = batch.into_iter();
        Ok(())
    }

    /// Notes an order that isn't sent again.
    fn note(&mut self, entry: PlacedOrder) {
        if self.next_from.is_some_and(|next| entry.placed_at >= next) {
            self.still_seen.insert(entry.id);
        }
    }

    fn end(&mut self) {
        self.from = self.next_from.take();
        self.seen = mem::take(&mut self.still_seen);
        self.last = None;
        self.is_silent = false;
    }
}
