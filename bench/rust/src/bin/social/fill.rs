//! What has to be there. Everything follows from numbers, so that a repeat changes nothing.

use std::io;

use docgate::{
    app::App,
    domains::social::{
        PostDocument,
        import::{NewMember, NewPost, NewUser, import, import_posts},
    },
    graphql::node_id::NodeKind,
};
use futures_util::TryStreamExt as _;
use mongodb::{
    Collection, Database, IndexModel,
    bson::{DateTime, Document, doc},
    options::IndexOptions,
};

use super::{CAP, DRIVERS_PAGES, HERALD, PAGES, beginning_with, reader};

const AUTHORS: usize = 1_000;
/// Authors whom a viewer follows.
const FOLLOWED: usize = 200;
/// Posts of all authors, 30 of each, and how many of them are of the month since whose beginning the viewers follow.
const POSTS: usize = 30_000;
const RECENT: usize = 4_000;
/// The month before that one, and that one. No moment has a fraction of a second that ends with a zero.
const BEFORE: &str = "2025-05-01T00:00:00.137Z";
const SINCE: &str = "2025-06-01T00:00:00.137Z";
/// Milliseconds between two posts: those of each month fill most of it.
const STEP_BEFORE: i64 = 100_000;
const STEP_SINCE: i64 = 600_000;
const MINUTE: i64 = 60_000;
/// Viewers whose news are made at a time.
const AT_ONCE: usize = 50;
/// Documents of one command.
const BATCH: usize = 2_000;

const WORDS: [&str; 12] = [
    "river", "lamp", "winter", "garden", "signal", "harbour", "velvet", "engine", "meadow",
    "copper", "station", "evening",
];

/// Random numbers, always the same ones.
struct Draw(u64);

impl Draw {
    fn of(seed: usize) -> Self {
        let mut draw =
            Self(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd));
        for _ in 0..8 {
            draw.below(2);
        }
        draw
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or_default() % bound
    }

    fn shuffle(&mut self, values: &mut [usize]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }

    fn text(&mut self, words: usize) -> String {
        let drawn: Vec<_> = (0..words).map(|_| WORDS[self.below(WORDS.len())]).collect();
        drawn.join(" ")
    }
}

fn author(number: usize) -> String {
    format!("bench-author-{number:04}")
}

fn viewer(number: usize) -> String {
    format!("bench-viewer-{number:04}")
}

/// The authors whom a viewer follows.
fn followed(viewer: usize) -> Vec<usize> {
    let mut authors: Vec<_> = (0..AUTHORS).collect();
    Draw::of(viewer).shuffle(&mut authors);
    authors.truncate(FOLLOWED);
    authors.sort_unstable();
    authors
}

fn moment(text: &str) -> io::Result<i64> {
    DateTime::parse_rfc3339_str(text).map(DateTime::timestamp_millis).map_err(io::Error::other)
}

fn user(subject: String, name: String) -> NewUser {
    NewUser { subject, name, about: String::new() }
}

fn member(by: String, of: String) -> NewMember {
    NewMember { by, of, circle: "read".to_owned() }
}

/// A status for everyone, with these comments.
fn status(
    key: String,
    by: String,
    text: String,
    at: i64,
    comments: Vec<(String, String)>,
) -> NewPost {
    let comments = (1..)
        .zip(comments)
        .map(|(minutes, (by, text))| (by, text, DateTime::from_millis(at + minutes * MINUTE)));
    NewPost {
        key,
        by,
        to: None,
        circle: None,
        text,
        detail: None,
        at: DateTime::from_millis(at),
        comments: comments.collect(),
        votes: Vec::new(),
    }
}

/// The posts of all authors, in the order of their time.
fn posts() -> io::Result<Vec<NewPost>> {
    let (before, since) = (moment(BEFORE)?, moment(SINCE)?);
    let mut draw = Draw::of(0);
    let mut authors: Vec<_> = (0..POSTS).map(|number| number % AUTHORS).collect();
    draw.shuffle(&mut authors);
    let old = (0..).take(POSTS - RECENT).map(|at: i64| before + at * STEP_BEFORE);
    let recent = (0..).take(RECENT).map(|at: i64| since + at * STEP_SINCE);
    let times = old.chain(recent);
    let post = |(number, (by, at)): (usize, (usize, i64))| {
        let comments = (0..number % 6).map(|_| (author(draw.below(AUTHORS)), draw.text(8)));
        let comments = comments.collect();
        status(format!("bench {number}"), author(by), draw.text(20), at, comments)
    };
    Ok(authors.into_iter().zip(times).enumerate().map(post).collect())
}

/// The viewers, whom they follow, and what was posted.
pub async fn viewers(app: &App, database: &Database, count: usize) -> io::Result<()> {
    let lists = database.collection::<Document>("bench_followed");
    let there = lists.count_documents(doc! {}).await.map_err(io::Error::other)?;
    if usize::try_from(there).is_ok_and(|there| there >= count) {
        return Ok(());
    }
    let named = |number| user(author(number), format!("Author {number}"));
    let mut users: Vec<_> = (0..AUTHORS).map(named).collect();
    users.extend((0..count).map(|number| user(viewer(number), format!("Viewer {number}"))));
    let of = |by| followed(by).into_iter().map(move |of| member(viewer(by), author(of)));
    let members: Vec<_> = (0..count).flat_map(of).collect();
    let since = DateTime::from_millis(moment(SINCE)?);
    import(app, &users, &members, since).await.map_err(io::Error::other)?;
    let mut posts = posts()?;
    let recent = posts.split_off(POSTS - RECENT);
    // Nobody followed the authors then: these are on walls alone.
    import_posts(app, posts, &[]).await.map_err(io::Error::other)?;
    for some in members.chunks(AT_ONCE * FOLLOWED) {
        import_posts(app, recent.clone(), some).await.map_err(io::Error::other)?;
    }
    join(database, &lists, count).await.map_err(io::Error::other)
}

/// The same posts as the handler has them, with an index for its `find`, and for each viewer one document with the list
/// of those whom they follow.
async fn join(
    database: &Database,
    lists: &Collection<Document>,
    count: usize,
) -> mongodb::error::Result<()> {
    let posts = database.collection::<Document>("bench_posts");
    posts.drop().await?;
    posts.create_index(IndexModel::builder().keys(doc! { "author": 1, "at": -1 }).build()).await?;
    let filter = doc! { "shown.by": beginning_with("bench-author-") };
    let mut found = database.collection::<PostDocument>("posts").find(filter).await?;
    let mut some = Vec::new();
    while let Some(PostDocument { id, shown, .. }) = found.try_next().await? {
        let latest =
            shown.latest.into_iter().map(|comment| doc! { "by": comment.by, "text": comment.text });
        some.push(doc! {
            "_id": NodeKind::POST.id(&id).0,
            "author": shown.by,
            "at": shown.at,
            "text": shown.text,
            "commentCount": shown.comment_count,
            "latest": latest.collect::<Vec<_>>(),
        });
        if some.len() >= BATCH {
            posts.insert_many(std::mem::take(&mut some)).await?;
        }
    }
    if !some.is_empty() {
        posts.insert_many(some).await?;
    }
    lists.drop().await?;
    let list = |by| {
        let authors: Vec<_> = followed(by).into_iter().map(author).collect();
        doc! { "_id": viewer(by), "authors": authors }
    };
    lists.insert_many((0..count).map(list)).await.map(|_inserted| ())
}

/// The author with many followers. Their news have 1 to 50 copies of earlier posts on one page, as many of each number:
/// each further post finds one page of 50 full.
pub async fn readers(app: &App, database: &Database, count: usize) -> io::Result<()> {
    withdraw(database).await.map_err(io::Error::other)?;
    let mut users = vec![user(HERALD.to_owned(), "The herald".to_owned())];
    users.extend((0..count).map(|number| user(reader(number), format!("Reader {number}"))));
    let members: Vec<_> =
        (0..count).map(|number| member(reader(number), HERALD.to_owned())).collect();
    let mut draw = Draw::of(1);
    let now = DateTime::now().timestamp_millis();
    let earlier = |(number, seconds): (usize, i64)| {
        let at = now - 1_000 * seconds;
        status(format!("bench herald {number}"), HERALD.to_owned(), draw.text(20), at, Vec::new())
    };
    let posts: Vec<_> = (0..CAP).zip((1..=50).rev()).map(earlier).collect();
    let since = DateTime::from_millis(now - MINUTE);
    import(app, &users, &members, since).await.map_err(io::Error::other)?;
    // Those of all posts come first: with them the author's wall is complete.
    for held in (1..=CAP).rev() {
        let some: Vec<_> = members.iter().skip(held - 1).step_by(CAP).cloned().collect();
        import_posts(app, posts[CAP - held..].to_vec(), &some).await.map_err(io::Error::other)?;
    }
    drivers_own(database).await.map_err(io::Error::other)
}

/// Removes what an earlier run has left: the copies, and the posts of that author.
async fn withdraw(database: &Database) -> mongodb::error::Result<()> {
    let pages = database.collection::<Document>(PAGES);
    pages.delete_many(doc! { "_id": beginning_with("news bench-reader-") }).await?;
    pages.delete_many(doc! { "feed": format!("wall {HERALD}") }).await?;
    database.collection::<Document>("posts").delete_many(doc! { "shown.by": HERALD }).await?;
    Ok(())
}

/// The followers' pages once more, with the same indexes.
async fn drivers_own(database: &Database) -> mongodb::error::Result<()> {
    let of_readers = doc! { "feed": beginning_with("news bench-reader-") };
    let stages = [doc! { "$match": of_readers }, doc! { "$out": DRIVERS_PAGES }];
    database.collection::<Document>(DRIVERS_PAGES).drop().await?;
    database.collection::<Document>(PAGES).aggregate(stages).await?;
    let copies = IndexOptions::builder()
        .unique(true)
        .partial_filter_expression(doc! { "posts.id": { "$exists": true } })
        .build();
    let indexes = [
        IndexModel::builder().keys(doc! { "feed": 1, "month": 1, "from": 1 }).build(),
        IndexModel::builder().keys(doc! { "posts.id": 1, "feed": 1 }).options(copies).build(),
    ];
    database.collection::<Document>(DRIVERS_PAGES).create_indexes(indexes).await.map(|_made| ())
}
