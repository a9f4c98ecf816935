//! What a team writes by hand that wants no GraphQL: one handler, one call of the driver (three for the news). It has what such a team
//! gives a handler that has to be fast: mimalloc, handles of the collections that are made once, sockets without
//! Nagle's delay, the driver's pool as large as docgate's, and a task of its own for each call of the driver. A
//! caller that hangs up so doesn't cut a call in the middle, which would cost the driver the connection.

use std::{collections::HashMap, io};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use futures_util::TryStreamExt as _;
use mongodb::{
    Collection, Database,
    bson::{DateTime, Document, doc},
    error::Result,
};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Documents = Collection<Document>;
type Answer = std::result::Result<Json<Document>, StatusCode>;

/// A call of the driver in its own task.
async fn apart<T: Send + 'static>(
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> std::result::Result<T, StatusCode> {
    match tokio::spawn(call).await {
        Ok(Ok(outcome)) => Ok(outcome),
        _ => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

async fn product(State(products): State<Documents>, Path(sku): Path<String>) -> Answer {
    let found = apart(async move { products.find_one(doc! { "_id": sku }).await }).await?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn hit(State(counted): State<Documents>, Path(sku): Path<String>) -> StatusCode {
    let update = doc! { "$inc": { "hits": 1 } };
    let call = async move { counted.update_one(doc! { "_id": sku }, update).upsert(true).await };
    match apart(call).await {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(status) => status,
    }
}

#[derive(Deserialize)]
struct Hit {
    page: String,
}

/// The same documents as docgate's.
async fn page_hit(State(database): State<Database>, Json(Hit { page }): Json<Hit>) -> StatusCode {
    let now = DateTime::now();
    let date = now.try_to_rfc3339_string().unwrap_or_default();
    let (day, month) = (&date[..10], &date[..7]);
    let minute = now.timestamp_millis() / 60_000 % 1_440;
    let (hour, minute) = (minute / 60, minute % 60);
    let add = |name: &str, date: &str, counts: Document| {
        let collection = database.collection::<Document>(name);
        let filter = doc! { "_id": { "site": "bare.example", "page": &page, "date": date } };
        let update = doc! { "$inc": counts, "$setOnInsert": { "v": 1 } };
        apart(async move { collection.update_one(filter, update).upsert(true).await })
    };
    let hours = doc! { format!("hourly.{hour}"): 1_i64, format!("minute.{hour}.{minute}"): 1_i64 };
    let days = doc! { format!("daily.{}", date[8..10].trim_start_matches('0')): 1_i64 };
    match tokio::try_join!(add("statsDaily", day, hours), add("statsMonthly", month, days)) {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(status) => status,
    }
}

/// Those whom a viewer follows, in one document.
#[derive(Deserialize)]
struct Followed {
    authors: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    #[serde(rename = "_id")]
    id: String,
    author: String,
    at: DateTime,
    text: String,
    comment_count: i64,
    latest: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    by: String,
    text: String,
}

#[derive(Deserialize)]
struct User {
    #[serde(rename = "_id")]
    id: String,
    profile: Named,
}

#[derive(Clone, Serialize, Deserialize)]
struct Named {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownPost {
    id: String,
    text: String,
    created_at: String,
    comment_count: i64,
    author: Option<Named>,
    latest_comments: Vec<ShownComment>,
}

#[derive(Serialize)]
struct ShownComment {
    text: String,
    author: Option<Named>,
}

#[derive(Serialize)]
struct News {
    nodes: Vec<ShownPost>,
}

/// The answer in the form of docgate's.
#[derive(Serialize)]
struct Data<T> {
    data: T,
}

#[derive(Serialize)]
struct NewsData {
    news: News,
}

/// What a viewer's news are joined from.
#[derive(Clone)]
struct Feeds {
    followed: Collection<Followed>,
    posts: Collection<Post>,
    users: Collection<User>,
}

impl Feeds {
    /// The last posts of those whom the viewer follows, with the names of all who wrote something.
    async fn news(&self, viewer: &str) -> Result<Vec<ShownPost>> {
        let Some(Followed { authors }) = self.followed.find_one(doc! { "_id": viewer }).await?
        else {
            return Ok(Vec::new());
        };
        let by_authors = doc! { "author": { "$in": authors } };
        let newest = self.posts.find(by_authors).sort(doc! { "at": -1 }).limit(20);
        let posts: Vec<Post> = newest.await?.try_collect().await?;
        let commenters = posts.iter().flat_map(|post| &post.latest).map(|comment| &comment.by);
        let mut writers: Vec<_> = posts.iter().map(|post| &post.author).chain(commenters).collect();
        writers.sort_unstable();
        writers.dedup();
        let names = self.users.find(doc! { "_id": { "$in": writers } });
        let names: Vec<User> =
            names.projection(doc! { "profile.name": 1 }).await?.try_collect().await?;
        let names: HashMap<_, _> = names.into_iter().map(|user| (user.id, user.profile)).collect();
        Ok(posts.into_iter().map(|post| shown(post, &names)).collect())
    }
}

fn shown(post: Post, names: &HashMap<String, Named>) -> ShownPost {
    let Post { id, author, at, text, comment_count, latest } = post;
    let comment = |Comment { by, text }| ShownComment { text, author: names.get(&by).cloned() };
    ShownPost {
        id,
        text,
        created_at: at.try_to_rfc3339_string().unwrap_or_default(),
        comment_count,
        author: names.get(&author).cloned(),
        latest_comments: latest.into_iter().map(comment).collect(),
    }
}

async fn news(
    State(feeds): State<Feeds>,
    Path(viewer): Path<String>,
) -> std::result::Result<Json<Data<NewsData>>, StatusCode> {
    let nodes = apart(async move { feeds.news(&viewer).await }).await?;
    Ok(Json(Data { data: NewsData { news: News { nodes } } }))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    // Without MongoDB's record of each write, by which the driver may send it again: as docgate counts.
    let once = docgate_bench::database_with(|options| options.retry_writes = Some(false)).await?;
    let products = Router::new()
        .route("/product/{sku}", get(product))
        .with_state(database.collection("products"));
    let hit =
        Router::new().route("/hit/{sku}", post(hit)).with_state(database.collection("bench_hits"));
    let ads = docgate_bench::ads::routes(&once);
    let hits = Router::new().route("/hits", post(page_hit)).with_state(once);
    let feeds = Feeds {
        followed: database.collection("bench_followed"),
        posts: database.collection("bench_posts"),
        users: database.collection("users"),
    };
    let news = Router::new().route("/news/{viewer}", get(news)).with_state(feeds);
    docgate_bench::serve(products.merge(hit).merge(hits).merge(news).merge(ads)).await
}
