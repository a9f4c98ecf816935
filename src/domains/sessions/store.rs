//! Every MongoDB call of sessions.

use std::{collections::BTreeSet, time::Duration};

use super::{
    documents::{
        Level, ROLLUP, RollupDocument, SessionDocument, Slot, StatDocument, Stopped, UserPeriod,
    },
    operations::{Period, calendar},
};
use crate::{
    graphql::prelude::*,
    mongo::{
        keyset::{beyond, sort},
        prelude::*,
        rollup::Fence,
    },
};

/// Fence and time limits of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) fence: i64,
    /// Time on the server's clock after which it computes nothing.
    pub(super) deadline: DateTime,
    /// `maxTimeMS` of its commands.
    pub(super) limit: Duration,
}

fn sessions(app: &App) -> Collection<SessionDocument> {
    app.collection()
}

fn rollups(app: &App) -> Collection<RollupDocument> {
    app.collection()
}

fn stats(app: &App, level: Level) -> Collection<StatDocument> {
    app.collection().named(level.collection())
}

/// Inserts sessions with the time of their arrival, except those that exist. Returns how many were inserted.
pub(super) async fn insert(
    app: &App,
    documents: Vec<SessionDocument>,
    attempt: &Attempt,
) -> Result<usize> {
    if documents.is_empty() {
        return Ok(0);
    }
    sessions(app).insert_timed(documents, "arrivedAt", attempt.command_limit()).await
}

/// The session with this `_id`.
pub(super) async fn find(app: &App, id: &str) -> Result<Option<SessionDocument>> {
    sessions(app).get_settled(id).await
}

/// How many of these sessions are stored with this digest of their input.
pub(super) async fn count_of(
    app: &App,
    documents: &[SessionDocument],
    input: &str,
) -> Result<usize> {
    let ids: Vec<&str> = documents.iter().map(|document| document.id.as_str()).collect();
    let found = sessions(app).list(List::of_ids(&ids)).await?;
    Ok(found.iter().filter(|session| session.input == input).count())
}

/// How far sessions are rolled up.
pub(super) async fn rollup(app: &App) -> Result<Option<RollupDocument>> {
    rollups(app).get_settled(ROLLUP).await
}

/// Begins a run: raises the fence and stores the server's time. A majority holds it.
pub(super) async fn begin(app: &App, attempt: &Attempt) -> Result<RollupDocument> {
    // A command that is sent twice raises the fence twice; a copy that arrives late ends this run.
    let raised = doc! { "fence": { "$add": ["$fence", 1_i64] }, "at": "$$NOW" };
    let raise = || rollups(app).set(doc! { "_id": ROLLUP }, raised.clone()).within(attempt).send();
    if let Some(begun) = raise().await.decided()? {
        return Ok(begun);
    }
    // There is none yet, unless the attempt is over.
    let never = DateTime::from_millis(0);
    let first = RollupDocument {
        id: ROLLUP.to_owned(),
        fence: 0,
        done: 0,
        at: never,
        upto: never,
        kept_from: never,
        stopped: None,
        v: Version,
    };
    rollups(app).insert(&first).await.decided()?;
    raise().await.decided()?.ok_or_else(|| attempt.overdue())
}

/// Ends a run, unless a later one has begun. `stopped` is where it stopped, if it isn't complete.
pub(super) fn finish(
    app: &App,
    run: Run,
    [upto, kept_from]: [DateTime; 2],
    stopped: Option<&Stopped>,
) -> Guarded<RollupDocument> {
    let mut reached = doc! { "upto": upto, "keptFrom": kept_from };
    if stopped.is_none() {
        reached.insert("done", run.fence);
    }
    let at = stopped.map_or_else(|| "$$REMOVE".into(), |stopped| literal(stored(stopped)));
    reached.insert("stopped", at);
    rollups(app).set(doc! { "_id": ROLLUP, "fence": run.fence }, reached)
}

/// Whether a session arrived after `since`.
pub(super) async fn has_arrived(app: &App, since: DateTime) -> Result<bool> {
    let filter = doc! { "arrivedAt": { "$gt": since } };
    let read = List { filter, hint: Some("arrived_at"), ..List::default() };
    Ok(sessions(app).first(read).await?.is_some())
}

/// The sessions that arrived in this time, both ends included, in the order of their arrival after `stopped`.
pub(super) async fn arrived(
    app: &App,
    [since, upto]: [DateTime; 2],
    stopped: Option<&Stopped>,
    limit: i64,
) -> Result<Vec<SessionDocument>> {
    let keys = [("arrivedAt", 1), ("_id", 1)];
    let window = doc! { "arrivedAt": { "$gte": since, "$lte": upto } };
    let filter = match stopped {
        Some(Stopped { arrived_at, session, .. }) => {
            beyond(window, &keys, &[stored(arrived_at), stored(session)])
        }
        None => window,
    };
    let read = List { filter, sort: sort(&keys), limit, ..List::default() };
    sessions(app).list(read).await
}

/// Computes hours from their sessions.
pub(super) async fn compute_hours(app: &App, hours: &BTreeSet<Period>, run: Run) -> Result<()> {
    let slot = |(user, hour): &Period| {
        stored(&Slot { hour: DateTime::from_millis(*hour), user: user.clone() })
    };
    let slots: Vec<Bson> = hours.iter().map(slot).collect();
    let group = doc! {
        "_id": { "user": "$slot.user", "at": "$slot.hour" },
        "total": { "$sum": "$seconds" },
        "count": { "$sum": 1_i64 },
        "shortest": { "$min": "$seconds" },
        "longest": { "$max": "$seconds" },
    };
    let filter = doc! { "slot": { "$in": slots } };
    let into = stats(app, Level::Hour);
    sessions(app).roll_up(filter, stages(group), &into, fence(run)).await
}

/// Computes the periods of a level from their parts, the periods of the level below.
pub(super) async fn compute(
    app: &App,
    level: Level,
    below: Level,
    parts: Vec<Period>,
    run: Run,
) -> Result<()> {
    let id = |(user, at): Period| stored(&UserPeriod { user, at: DateTime::from_millis(at) });
    let ids: Vec<Bson> = parts.into_iter().map(id).collect();
    let start = doc! { "$dateTrunc": truncated(app, level) };
    let group = doc! {
        "_id": { "user": "$_id.user", "at": start },
        "total": { "$sum": "$total" },
        "count": { "$sum": "$count" },
        "shortest": { "$min": "$shortest" },
        "longest": { "$max": "$longest" },
    };
    let filter = doc! { "_id": { "$in": ids } };
    let into = stats(app, level);
    stats(app, below).roll_up(filter, stages(group), &into, fence(run)).await
}

fn stages(group: Document) -> Vec<Document> {
    vec![doc! { "$group": group }, doc! { "$set": { "v": 1 } }]
}

fn fence(Run { fence, deadline, limit }: Run) -> Fence {
    Fence { field: "fence", number: fence, deadline, limit }
}

/// Arguments of `$dateTrunc` for the start of a period.
fn truncated(app: &App, level: Level) -> Document {
    let mut arguments = doc! { "date": "$_id.at", "unit": level.name() };
    if level == Level::Week {
        arguments.insert("startOfWeek", calendar(app).week_start.name());
    }
    arguments
}

/// Removes the sessions of hours before this one.
pub(super) async fn remove_before(app: &App, hour: DateTime) -> Result<()> {
    let earlier = doc! { "slot": { "$lt": { "hour": hour } } };
    sessions(app).remove_many(earlier).await?;
    Ok(())
}

/// The periods of a user that begin from one time, inclusive, to another, exclusive.
pub(super) async fn list(
    app: &App,
    user: &str,
    level: Level,
    between: [i64; 2],
    limit: i64,
) -> Result<Vec<StatDocument>> {
    let [first, end] = between
        .map(|at| stored(&UserPeriod { user: user.to_owned(), at: DateTime::from_millis(at) }));
    let filter = doc! { "_id": { "$gte": first, "$lt": end } };
    let sort = doc! { "_id": 1 };
    stats(app, level).list(List { filter, sort, limit, ..List::default() }).await
}

/// Calls `each` for every period of a level.
pub(super) async fn for_each(
    app: &App,
    level: Level,
    each: impl FnMut(StatDocument),
) -> Result<()> {
    stats(app, level).for_each(each).await
}

/// Calls `each` for every session.
pub(super) async fn for_each_session(app: &App, each: impl FnMut(SessionDocument)) -> Result<()> {
    sessions(app).for_each(each).await
}
