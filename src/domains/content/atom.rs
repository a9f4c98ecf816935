//! Feeds in Atom format, [RFC 4287](https://www.rfc-editor.org/rfc/rfc4287).

use atom_syndication::{
    Category, Content, Entry, Feed, FixedDateTime, Generator, Link, Person, Text,
};
use mongodb::bson::DateTime;

use super::{markdown, operations, types::Shown};
use crate::{app::rfc3339, domains::assets::AssetDocument, graphql::prelude::*};

/// Result of a request for a feed.
#[derive(Debug)]
pub enum Found {
    /// The feed as XML.
    Feed(String),
    /// The content has moved; its current path.
    Moved(String),
}

/// The feed of everything below the content at `path` that everyone may see; `None` if there is nothing to
/// see. Links begin with `base`, the address of this host without a path.
///
/// # Errors
/// `BadInput` for a malformed path.
pub async fn feed(app: &App, base: &str, path: &str) -> Result<Option<Found>> {
    let Some((head, entries)) = operations::feed_at(app, path).await? else { return Ok(None) };
    let now_at = &head.node().metadata.path;
    if now_at != path {
        return Ok(Some(Found::Moved(now_at.clone())));
    }
    let mut shown = Vec::with_capacity(entries.len());
    for entry in &entries {
        shown.push(match entry.shown() {
            Ok(shown) => atom_entry(base, shown).await?,
            Err(photo) => atom_photo(base, photo),
        });
    }
    let updated = shown.iter().map(|entry| entry.updated).chain([moment(head.since())]).max();
    let feed = Feed {
        title: Text::plain(clean(head.title())),
        id: id_of(&head),
        updated: updated.unwrap_or_default(),
        lang: head.language().map(|tag| tag.as_str().to_owned()),
        subtitle: head.detail().subtitle.as_deref().map(|subtitle| Text::plain(clean(subtitle))),
        links: vec![
            link("self", format!("{base}/feeds{path}.atom"), Some("application/atom+xml")),
            link("alternate", format!("{base}{path}"), None),
        ],
        generator: Some(Generator { value: "docgate".into(), ..Generator::default() }),
        entries: shown,
        ..Feed::default()
    };
    Ok(Some(Found::Feed(feed.to_string())))
}

async fn atom_entry(base: &str, shown: &Shown) -> Result<Entry> {
    let (metadata, detail) = (&shown.node().metadata, shown.detail());
    let html = markdown::html(&detail.body).await?;
    let lang = shown.language().map(|tag| tag.as_str().to_owned());
    let category = |tag: &String| Category { term: clean(tag), ..Category::default() };
    Ok(Entry {
        title: Text::plain(clean(shown.title())),
        id: id_of(shown),
        updated: moment(shown.since()),
        published: shown.node().published_at.map(|at| moment(Some(at))),
        authors: vec![Person { name: clean(&metadata.author.name), ..Person::default() }],
        categories: metadata.tags.iter().map(category).collect(),
        links: vec![link("alternate", format!("{base}{}", metadata.path), None)],
        summary: detail.summary.as_deref().map(|summary| Text::plain(clean(summary))),
        content: Some(Content {
            value: Some(clean(&html)),
            content_type: Some("html".into()),
            lang,
            ..Content::default()
        }),
        ..Entry::default()
    })
}

fn atom_photo(base: &str, photo: &AssetDocument) -> Entry {
    let AssetDocument { metadata, file, published_at, .. } = photo;
    let category = |tag: &String| Category { term: clean(tag), ..Category::default() };
    let mut links = vec![link("alternate", format!("{base}{}", metadata.path), None)];
    if let Some(file) = file {
        let href = format!("{base}/assets{}", metadata.path);
        let bytes = link("enclosure", href, Some(&file.media_type));
        links.push(Link { length: Some(file.length.to_string()), ..bytes });
    }
    Entry {
        title: Text::plain(clean(&metadata.title)),
        id: format!("urn:docgate:{}", NodeKind::ASSET.id(&photo.id).0),
        updated: moment(file.as_ref().map(|file| file.at)),
        published: Some(moment(Some(*published_at))),
        authors: vec![Person { name: clean(&metadata.author.name), ..Person::default() }],
        categories: metadata.tags.iter().map(category).collect(),
        links,
        ..Entry::default()
    }
}

/// An identifier that doesn't change when the content moves: RFC 4287, 4.2.6.
fn id_of(shown: &Shown) -> String {
    format!("urn:docgate:{}", NodeKind::CONTENT.id(&shown.node().id).0)
}

fn link(rel: &str, href: String, mime_type: Option<&str>) -> Link {
    let mime_type = mime_type.map(str::to_owned);
    Link { href, rel: rel.to_owned(), mime_type, ..Link::default() }
}

fn moment(at: Option<DateTime>) -> FixedDateTime {
    let at = rfc3339(at.unwrap_or(DateTime::from_millis(0)));
    FixedDateTime::parse_from_rfc3339(&at).unwrap_or_default()
}

/// Removes characters that XML 1.0 doesn't allow.
fn clean(text: &str) -> String {
    let known =
        |c: &char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}') || *c >= '\u{10000}';
    text.chars().filter(known).collect()
}
