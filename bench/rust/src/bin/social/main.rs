//! People, posts and feeds for the bench, in documents that docgate's own import makes, and posts to many followers.
//!
//! - `social viewers COUNT`: so many viewers, each of whom follows 200 of 1,000 authors, with the news of all, and the
//!   collections of the handler that joins when it reads
//! - `social readers COUNT`: one author with so many followers, and a second collection with the pages of their news
//! - `social post ADDRESS TOKEN COUNT`: the author posts through docgate, one post after the other
//! - `social copy COUNT`: the driver puts copies of as many posts into the second collection
//! - `social same`: whether both collections have as many pages and copies in each feed
//!
//! `post` and `copy` say in JSON how long each post took.

// As in docgate: futures of resolvers lie in each other as deep as objects do.
#![recursion_limit = "256"]

mod deliver;
mod fill;

use std::{env, io};

use docgate::{app::App, config::Config};
use mongodb::{
    Database,
    bson::{Document, doc},
};

/// Copies on a page of a feed.
const CAP: usize = 50;
/// The author whose posts go to many followers.
const HERALD: &str = "bench-herald";
/// docgate's pages of feeds, and those that the driver writes.
const PAGES: &str = "feedPages";
const DRIVERS_PAGES: &str = "bench_feedPages";

/// The feed of a follower of that author.
fn news_of_reader(number: usize) -> String {
    format!("news {}", reader(number))
}

/// A follower of that author.
fn reader(number: usize) -> String {
    format!("bench-reader-{number:05}")
}

/// Values that begin with this text, which ends with a hyphen.
fn beginning_with(text: &str) -> Document {
    let end = format!("{}.", text.strip_suffix('-').unwrap_or(text));
    doc! { "$gte": text, "$lt": end }
}

fn app(database: &Database) -> io::Result<App> {
    let config = Config {
        database: database.name().to_owned(),
        mongodb_uri: docgate_bench::variable("MONGODB_URI")?,
        secret: docgate_bench::variable("SECRET")?,
        ..Config::default()
    };
    Ok(App::new(config, database.clone()))
}

fn number(text: &str) -> io::Result<usize> {
    text.parse().map_err(io::Error::other)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let database = docgate_bench::database().await?;
    match words.as_slice() {
        ["viewers", count] => fill::viewers(&app(&database)?, &database, number(count)?).await,
        ["readers", count] => fill::readers(&app(&database)?, &database, number(count)?).await,
        ["post", address, token, count] => {
            deliver::post(&database, address, token, number(count)?).await
        }
        ["copy", count] => deliver::copy(&database, number(count)?).await,
        ["same"] => deliver::compare(&database).await,
        _ => Err(io::Error::other("viewers, readers, post, copy or same: see the source")),
    }
}
