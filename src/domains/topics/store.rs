//! MongoDB access of topics. The guarded writes are values: the caller sends them.

use super::documents::{ALL, PREFIX, TopicEntry, TopicsDocument};
use crate::{
    app::App,
    error::Result,
    mongo::{prelude::*, rings::Ring},
};

fn topics(app: &App) -> Collection<TopicsDocument> {
    app.collection()
}

/// All topics.
pub(super) async fn list(app: &App) -> Result<Vec<TopicEntry>> {
    Ok(topics(app).get_settled(ALL).await?.map(|all| all.topics).unwrap_or_default())
}

/// The topic with this name.
pub(super) async fn find(app: &App, name: &str) -> Result<Option<TopicEntry>> {
    let all = topics(app).get(ALL).await?;
    Ok(all.and_then(|all| all.topics.into_iter().find(|topic| topic.name == name)))
}

/// Inserts the list of topics, which is empty at first. It may exist already.
pub(super) async fn begin(app: &App) -> Result<()> {
    let empty = TopicsDocument { id: ALL.to_owned(), topics: Vec::new(), v: Version };
    match topics(app).insert(&empty).await {
        Outcome::Applied(()) | Outcome::Refused => Ok(()),
        Outcome::Unknown(error) => Err(error),
    }
}

/// Adds a topic, unless there is one with its name, or there are too many, or they take up too much space.
pub(super) fn add(
    app: &App,
    topic: &TopicEntry,
    (most, most_bytes): (i64, i64),
) -> Guarded<TopicsDocument> {
    let guard = doc! {
        "_id": ALL,
        "topics.name": { "$ne": &topic.name },
        "$expr": { "$and": [
            { "$lt": [{ "$size": "$topics" }, most] },
            { "$lte": [{ "$add": [{ "$sum": "$topics.bytes" }, topic.bytes] }, most_bytes] },
        ] },
    };
    let applied = doc! { "_id": ALL, "topics.ring": &topic.ring };
    let push = doc! { "$push": { "topics": stored(topic) } };
    // Once the topic was deleted, a copy that arrived late would list it again.
    topics(app).guarded(guard, push).applied_if(applied).numbered()
}

/// Notes that the topic's ring exists.
pub(super) fn note_ready(app: &App, topic: &TopicEntry) -> Guarded<TopicsDocument> {
    let unready = doc! { "ring": &topic.ring, "isReady": false };
    let guard = doc! { "_id": ALL, "topics": { "$elemMatch": unready } };
    topics(app).guarded(guard, doc! { "$set": { "topics.$.isReady": true } })
}

/// Removes a topic from the list.
pub(super) fn remove(app: &App, topic: &TopicEntry) -> Guarded<TopicsDocument> {
    let guard = doc! { "_id": ALL, "topics.ring": &topic.ring };
    topics(app).guarded(guard, doc! { "$pull": { "topics": { "ring": &topic.ring } } })
}

/// The ring of a topic.
pub(super) fn ring(app: &App, topic: &TopicEntry) -> Ring {
    topics(app).ring(&topic.ring)
}

/// The names of all rings, each with whether the collection is capped.
pub(super) async fn rings(app: &App) -> Result<Vec<(String, bool)>> {
    topics(app).rings(PREFIX).await
}

/// Drops a ring that belongs to no topic.
pub(super) async fn drop_ring(app: &App, name: &str) -> Result<()> {
    topics(app).ring(name).drop().await
}
