//! Lists for readers: one index range per audience, or full-text search.

use super::{
    super::documents::{ContentType, Detail, NodeDocument},
    is_due,
};
use crate::{
    domains::audiences::read_by,
    graphql::prelude::*,
    mongo::{collection::Timed, prelude::*},
};

/// A checked request for a list of published content.
#[derive(Debug, Clone)]
pub(in super::super) enum Listing {
    /// Content with a tag.
    Tag(String),
    /// Children of a content.
    Parent(String),
    /// Content of a type.
    Type(ContentType),
    /// Everything at and below a path.
    In(String),
    /// Content with a pair of metadata; the filter that finds it.
    Metadata(Document),
    /// Full-text search.
    Text {
        /// The words to search for.
        query: String,
        /// MongoDB's name of their language.
        language: &'static str,
        /// The path below which content is searched.
        within: String,
    },
}

/// Maximum number of results of a full-text search.
const BEST: i64 = 200;

impl Listing {
    /// Sort keys; an index covers them after the fields that the filter fixes.
    pub(in super::super) fn order(&self) -> Order {
        let keys = match self {
            Self::Text { .. } => vec![("score", -1), ("document._id", 1)],
            Self::Metadata(_) => vec![("_id", 1)],
            _ => vec![("publishedAt", -1), ("_id", 1)],
        };
        Order { list: format!("contents {self:?}"), keys }
    }

    fn feed(&self) -> (&str, &str) {
        match self {
            Self::Tag(tag) => ("tag", tag),
            Self::Parent(id) => ("parent", id),
            Self::Type(kind) => ("type", kind.name()),
            Self::In(path) | Self::Text { within: path, .. } => ("in", path),
            Self::Metadata(_) => ("in", TOP),
        }
    }

    /// Filter: the caller may read it, and it is published by now. `publishedAt` is also compared with a
    /// constant, so that only documents that have the field are examined.
    fn filter(&self, requester: &Requester) -> Document {
        let (feed, of) = self.feed();
        let listed = read_by(requester, feed, of);
        let mut filter = doc! {
            "listed": listed,
            "publishedAt": { "$gte": DateTime::from_millis(0) },
            "$expr": { "$lte": ["$publishedAt", "$$NOW"] },
        };
        if let Self::Metadata(pair) = self {
            filter.extend(pair.clone());
        }
        filter
    }
}

/// The parts of each document that a list needs.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Needed {
    /// Drafts and next editions.
    pub drafts: bool,
    /// The texts in Markdown.
    pub texts: bool,
}

impl Needed {
    /// Expression of the document with the needed parts: for readers only the visible version, and for
    /// everyone without fields that only flows and single reads use.
    pub(super) fn shape(self) -> Bson {
        let version = |version: &str| -> Bson {
            if self.texts {
                return version.into();
            }
            let translations = format!("{version}.detail.translations");
            let has_some = doc! { "$isArray": [&translations] };
            let shorn = map(translations.as_str(), changed(doc! { "body": "" }));
            let empty = doc! { "body": "", "translations": choose(has_some, shorn, "$$REMOVE") };
            let detail = doc! { "$mergeObjects": [format!("{version}.detail"), empty] };
            let shorn = doc! { "$mergeObjects": [version, { "detail": detail }] };
            choose(doc! { "$eq": [{ "$type": version }, "object"] }, shorn, Bson::Null)
        };
        let without = |field: &str, input: Bson| {
            Bson::from(doc! { "$unsetField": { "field": field, "input": input } })
        };
        let mut shape = doc! {
            "within": [], "listed": [], "former": [], "kept": [], "outbox": [],
            "discussion": without("entries", without("taken", "$discussion".into())),
        };
        shape.extend(if self.drafts {
            doc! {
                "metadata": version("$metadata"), "live": version("$live"), "next": version("$next"),
            }
        } else {
            let next = is_due("next");
            let nothing = literal(stored(&Detail::default()));
            doc! {
                "metadata": { "$mergeObjects": ["$metadata", { "detail": nothing }] },
                "live": choose(next.clone(), Bson::Null, version("$live")),
                "next": choose(next, version("$next"), Bson::Null),
            }
        });
        Bson::Document(doc! { "$mergeObjects": ["$$ROOT", shape] })
    }
}

/// One document of a feed, with its values of the sort keys.
pub(in super::super) type Placed = (Vec<Bson>, Timed<NodeDocument>);

/// A page of published content, newest or best match first. Texts are included only if `texts` is set.
pub(in super::super) async fn list(
    app: &App,
    listing: &Listing,
    requester: &Requester,
    texts: bool,
    page: &Page,
) -> Result<Vec<Placed>> {
    let filter = listing.filter(requester);
    let shape = Needed { drafts: requester.has(Role::Editor), texts }.shape();
    if let Listing::Text { query, language, .. } = listing {
        return rank(app, query, language, filter, shape, page).await;
    }
    let is_by_id = matches!(listing, Listing::Metadata(_));
    let hint = Some(if is_by_id { "metadata" } else { "feed" });
    // By a pair, also content is examined that isn't published or that others read.
    let time = is_by_id.then_some(EXAMINING);
    let list = List { hint, time, ..page.list(filter) };
    let found = app.collection::<NodeDocument>().list_timed(list, shape).await?;
    let placed = |found: Timed<NodeDocument>| {
        let node = &found.document;
        let id = Bson::from(&node.id);
        if is_by_id {
            return (vec![id], found);
        }
        let at = node.published_at.map_or(Bson::Null, Bson::DateTime);
        (vec![at, id], found)
    };
    Ok(found.into_iter().map(placed).collect())
}

/// A page of the best matches. No index is ordered by score, so each page computes the ranking again.
async fn rank(
    app: &App,
    query: &str,
    language: &str,
    filter: Document,
    shape: Bson,
    page: &Page,
) -> Result<Vec<Placed>> {
    #[derive(Deserialize)]
    struct Match {
        score: f64,
        now: DateTime,
        document: NodeDocument,
    }
    let mut words = doc! { "$text": { "$search": query, "$language": language } };
    words.extend(filter);
    let rest = page.list(Document::new());
    let pipeline = vec![
        doc! { "$match": words },
        // Only the best matches are read completely. A page sorts them once more, in its own direction.
        doc! { "$sort": { "score": { "$meta": "textScore" }, "_id": 1 } },
        doc! { "$limit": BEST },
        doc! { "$project": {
            "score": { "$meta": "textScore" }, "now": "$$NOW", "document": shape,
        } },
        doc! { "$match": rest.filter },
        doc! { "$sort": rest.sort },
        doc! { "$limit": rest.limit },
    ];
    let found: Vec<Match> = app.collection::<NodeDocument>().rank(pipeline, None).await?;
    let placed = |Match { score, now, document }: Match| {
        (vec![score.into(), Bson::from(&document.id)], Timed { now, document })
    };
    Ok(found.into_iter().map(placed).collect())
}
