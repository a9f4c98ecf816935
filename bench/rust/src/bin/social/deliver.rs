//! Posts to many followers: through docgate, and as copies that the driver writes.

use std::{
    io,
    time::{Duration, Instant},
};

use docgate::{
    app::rfc3339,
    domains::social::{FeedPage, Shown},
    graphql::node_id::NodeKind,
};
use futures_util::TryStreamExt as _;
use mongodb::{
    Database,
    bson::{DateTime, Document, doc, serialize_to_document},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};

use super::{DRIVERS_PAGES, HERALD, PAGES, beginning_with, news_of_reader};

const CREATE: &str = r#"{"query":"mutation Post($text: String!) { createPost(input: {text: $text, audience: PUBLIC}) { __typename ... on Post { id } ... on UserError { code message } } }","variables":{"text":"TEXT"}}"#;
/// As long as the earlier posts.
const TEXT: &str = "What one hears at once is not what stays: that comes with the third time. So it is with evenings, \
                    rivers, lamps and most harbours";
/// Pause between two looks at a post that is being delivered.
const LOOK: Duration = Duration::from_millis(2);
/// Pause before each post, in which what the last one has left is done.
const PAUSE: Duration = Duration::from_millis(150);
/// The longest delivery that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Copies of one command of the driver.
const BATCH: usize = 1_000;

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The author's followers, by their feeds.
async fn feeds(database: &Database) -> io::Result<Vec<String>> {
    let circles = database.collection::<Document>("circles");
    let followers = circles.count_documents(doc! { "of": HERALD }).await;
    let count = usize::try_from(followers.map_err(io::Error::other)?).map_err(io::Error::other)?;
    Ok((0..count).map(news_of_reader).collect())
}

/// Fails unless so many feeds have a copy of the post.
async fn demand_copies(
    database: &Database,
    pages: &str,
    post: &str,
    wanted: usize,
) -> io::Result<()> {
    let copies = doc! { "posts.id": post, "feed": beginning_with("news bench-reader-") };
    let found = database.collection::<Document>(pages).count_documents(copies).await;
    let found = found.map_err(io::Error::other)?;
    if usize::try_from(found) == Ok(wanted) {
        return Ok(());
    }
    Err(io::Error::other(format!("{found} of {wanted} feeds have a copy in {pages}")))
}

/// Says in JSON how long each post took.
fn tell(taken: &[(f64, f64)]) {
    let list = |times: Vec<f64>| {
        times.iter().map(|time| format!("{time:.3}")).collect::<Vec<_>>().join(", ")
    };
    let (whole, answered) = taken.iter().copied().unzip();
    println!("{{\"millis\": [{}], \"answered\": [{}]}}", list(whole), list(answered));
}

/// One request, and the body of its answer.
async fn send(stream: &mut TcpStream, token: &str, body: &str) -> io::Result<String> {
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await?;
    let mut received = Vec::new();
    loop {
        if stream.read_buf(&mut received).await? == 0 {
            return Err(io::Error::other("docgate closed the connection"));
        }
        let text = String::from_utf8_lossy(&received);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length:"));
        let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
        if length.is_some_and(|length| body.len() >= length) {
            return Ok(body.to_owned());
        }
    }
}

/// From the request until the post isn't being delivered any more: the last copy was written one command before.
pub async fn post(database: &Database, address: &str, token: &str, count: usize) -> io::Result<()> {
    let wanted = feeds(database).await?.len();
    let posts = database.collection::<Document>("posts");
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let body = CREATE.replace("TEXT", TEXT);
    let mut taken = Vec::new();
    for _ in 0..count {
        sleep(PAUSE).await;
        let since = Instant::now();
        let answer = send(&mut stream, token, &body).await?;
        let answered = millis(since);
        let id = answer.split_once("\"id\":\"").and_then(|(_, rest)| rest.split('"').next());
        let id = id.and_then(|id| NodeKind::POST.key(id));
        let id = id.ok_or_else(|| io::Error::other(format!("no post was created: {answer}")))?;
        let pending = doc! { "_id": &id, "delivering": { "$exists": true } };
        let look = || posts.find_one(pending.clone()).projection(doc! { "_id": 1 });
        while look().await.map_err(io::Error::other)?.is_some() {
            if since.elapsed() > PATIENCE {
                return Err(io::Error::other("a post wasn't delivered within a minute"));
            }
            sleep(LOOK).await;
        }
        taken.push((millis(since), answered));
        demand_copies(database, PAGES, &id, wanted).await?;
    }
    tell(&taken);
    Ok(())
}

/// The update of one feed: a copy goes to the page that has room, or to a new one.
fn update(feed: &str, month: &str, copy: &Document, at: DateTime) -> Document {
    doc! {
        "q": { "feed": feed, "month": month, "posts.49": { "$exists": false } },
        "u": {
            "$push": { "posts": copy },
            "$setOnInsert": { "n": 0, "from": at, "full": false, "v": 1 },
        },
        "upsert": true,
    }
}

/// The command that the drivers' `bulkWrite` makes of a batch. The Rust driver's own is for MongoDB 8.
async fn write(database: &Database, updates: Vec<Document>) -> io::Result<()> {
    let count = i32::try_from(updates.len()).map_err(io::Error::other)?;
    let command = doc! {
        "update": DRIVERS_PAGES,
        "ordered": false,
        "writeConcern": { "w": "majority" },
        "updates": updates,
    };
    let reply = database.run_command(command).await.map_err(io::Error::other)?;
    if reply.contains_key("writeErrors") || reply.get_i32("n").ok() != Some(count) {
        return Err(io::Error::other(format!("not all copies were written: {reply}")));
    }
    Ok(())
}

/// The driver's copies of as many posts.
pub async fn copy(database: &Database, count: usize) -> io::Result<()> {
    let feeds = feeds(database).await?;
    let filter = doc! { "feed": news_of_reader(0) };
    let page =
        database.collection::<FeedPage>(PAGES).find_one(filter).await.map_err(io::Error::other)?;
    let earlier = page.and_then(|page| page.posts.into_iter().next());
    let earlier = earlier.ok_or_else(|| io::Error::other("there are no feeds: fill them first"))?;
    let mut taken = Vec::new();
    for _ in 0..count {
        sleep(PAUSE).await;
        let since = Instant::now();
        let at = DateTime::now();
        // As long as docgate's.
        let id = format!("{:022}", at.timestamp_millis());
        let shown = Shown { id: id.clone(), text: TEXT.to_owned(), at, ..earlier.clone() };
        let copied = serialize_to_document(&shown).map_err(io::Error::other)?;
        let month = &rfc3339(at)[.."2026-11".len()];
        for some in feeds.chunks(BATCH) {
            let updates = some.iter().map(|feed| update(feed, month, &copied, at)).collect();
            write(database, updates).await?;
        }
        let time = millis(since);
        taken.push((time, time));
        demand_copies(database, DRIVERS_PAGES, &id, feeds.len()).await?;
    }
    tell(&taken);
    Ok(())
}

/// Fails unless both sides have as many pages and copies in each feed.
pub async fn compare(database: &Database) -> io::Result<()> {
    let sides = tokio::try_join!(totals(database, PAGES), totals(database, DRIVERS_PAGES));
    let (ours, theirs) = sides.map_err(io::Error::other)?;
    if ours == theirs {
        return Ok(());
    }
    let differing = ours.iter().zip(&theirs).find(|(one, other)| one != other);
    Err(io::Error::other(format!("the feeds of the two sides differ: {differing:?}")))
}

/// Each feed with the number of its pages and copies.
async fn totals(database: &Database, pages: &str) -> mongodb::error::Result<Vec<Document>> {
    let stages = [
        doc! { "$match": { "feed": beginning_with("news bench-reader-") } },
        doc! { "$group": {
            "_id": "$feed", "pages": { "$sum": 1 }, "copies": { "$sum": { "$size": "$posts" } },
        } },
        doc! { "$sort": { "_id": 1 } },
    ];
    database.collection::<Document>(pages).aggregate(stages).await?.try_collect().await
}
