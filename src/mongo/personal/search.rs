//! Searches a collection for the subject of a person, and changes the documents that were found.

use std::{collections::BTreeSet, time::Duration};

use futures_util::TryStreamExt;
use mongodb::{
    Collection,
    bson::{Document, RawDocumentBuf, doc},
    options::{Hint, ReadConcern},
};

use super::{
    Erasure, Field, Find, Owned, Subjects,
    path::{Update, elements, matching, plain, take_out, texts},
};
use crate::{
    error::Error,
    mongo::{
        Group, Placement, Walk, driver::send, migrations::known, placement::collection_names,
        shards::ShardKey,
    },
};

/// Documents that are read by one command.
const PAGE: i64 = 500;
/// `maxTimeMS` of such a read.
const LIMIT: Duration = Duration::from_secs(10);

/// A collection that is searched.
#[derive(Debug, Clone)]
pub struct Searched {
    collection: Collection<Document>,
    subjects: Subjects,
    shard_key: ShardKey,
    newest: i32,
    /// The `_id`s of what the person owns; see [`Subjects::owned`].
    owned: BTreeSet<String>,
    /// Lists of copies in the documents.
    copies: Vec<&'static str>,
}

/// A document that holds the subject, as far as the search has read it.
#[derive(Debug, Clone)]
pub struct Found {
    document: Document,
    /// The paths of the fields that hold the subject. None if the document only names something that the person owns.
    pub paths: Vec<&'static str>,
    /// Whether a flow is going on in it.
    pub is_in_flight: bool,
}

impl Found {
    /// The `_id`, if it is a text.
    pub fn id(&self) -> Option<&str> {
        self.document.get_str("_id").ok()
    }
}

/// The names of the collections that a declared name stands for.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn names(
    placement: &Placement,
    group: Group,
    declared: &str,
) -> Result<Vec<String>, Error> {
    let Some(start) = declared.strip_suffix('*') else { return Ok(vec![declared.to_owned()]) };
    let mut names = collection_names(placement.database(group)).await?;
    names.retain(|name| name.starts_with(start));
    names.sort_unstable();
    Ok(names)
}

impl Searched {
    /// The collection with this name in a group. `newest` is the newest version of its documents.
    pub fn new(
        placement: &Placement,
        (name, group): (&str, Group),
        subjects: Subjects,
        shard_key: ShardKey,
        newest: i32,
    ) -> Self {
        let collection = placement.database(group).collection(name);
        let (owned, copies) = (BTreeSet::new(), Vec::new());
        Self { collection, subjects, shard_key, newest, owned, copies }
    }

    /// The same search, which also finds the documents that name something with one of these `_id`s
    /// ([`Subjects::owned`]). It is for an export.
    #[must_use]
    pub fn with_owned(self, owned: impl IntoIterator<Item = String>) -> Self {
        Self { owned: owned.into_iter().collect(), ..self }
    }

    /// The same search, which leaves these lists of copies out of a whole document. Others may have written what is in them.
    #[must_use]
    pub fn without_copies(self, copies: Vec<&'static str>) -> Self {
        Self { copies, ..self }
    }

    /// The same search in the order of `_id` instead of by an index of a field, which a collection may lack whose room is
    /// switched off.
    #[must_use]
    pub fn without_index(mut self) -> Self {
        if matches!(self.subjects.find, Find::Index(..)) {
            self.subjects.find = Find::Walk;
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.collection.name()
    }

    /// The next documents of the walk that hold the subject, and the rest of the walk, which is `None` at the end.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn next(
        &self,
        subject: &str,
        walk: &Walk,
    ) -> Result<(Vec<Found>, Option<Walk>), Error> {
        let (filter, hint) = match self.subjects.find {
            Find::Id if walk.0.is_some() => return Ok((Vec::new(), None)),
            Find::Id => (doc! { "_id": subject }, "_id_"),
            Find::Index(field, index) => (doc! { field: subject, "_id": walk.rest() }, index),
            Find::Walk => (doc! { "_id": walk.rest() }, "_id_"),
        };
        let read = self.read(filter, hint, false).await?;
        let is_end = i64::try_from(read.len()).is_ok_and(|read| read < PAGE);
        let last = read.last().and_then(|last| last.get("_id")).cloned();
        let found = read.into_iter().filter_map(|document| self.holding(document, subject));
        Ok((found.collect(), last.filter(|_| !is_end).map(|last| Walk(Some(last)))))
    }

    /// The document, if it holds the subject.
    fn holding(&self, document: Document, subject: &str) -> Option<Found> {
        let fields = self.subjects.fields.iter();
        let named: Vec<&Field> =
            fields.filter(|field| !matching(&document, field, subject).is_empty()).collect();
        if named.is_empty() && self.owned(&document).is_none() {
            return None;
        }
        let is_in_flight =
            self.subjects.in_flight.is_some_and(|flow| (flow.is)(&document, subject));
        let paths = named.iter().map(|field| field.path).collect();
        Some(Found { document, paths, is_in_flight })
    }

    /// How the document names something that the person owns, if it does.
    fn owned(&self, document: &Document) -> Option<Owned> {
        let owned = self.subjects.owned?;
        let mut ids = Vec::new();
        texts(document, owned.field, &mut ids);
        ids.into_iter().any(|id| self.owned.contains(id)).then_some(owned)
    }

    /// Documents in the order of `_id`, up to a page of them.
    async fn read(
        &self,
        filter: Document,
        hint: &'static str,
        is_whole: bool,
    ) -> Result<Vec<Document>, Error> {
        let collection = self.collection.clone_with_type::<RawDocumentBuf>();
        // A walk reads only what it looks at. The other reads are of few documents, of which an export needs the whole.
        let is_walk = matches!(self.subjects.find, Find::Walk) && !is_whole;
        let projection = is_walk.then(|| {
            let paths = self.subjects.fields.iter().map(|field| plain(field.path));
            let told = self.subjects.in_flight.map_or(&[][..], |flow| flow.fields);
            let owned = self.subjects.owned.filter(|_| !self.owned.is_empty());
            let more = told.iter().copied().chain(self.shard_key.field());
            let more = more.chain(owned.map(|owned| owned.field)).map(str::to_owned);
            let is_key = |path: &String| path == "_id" || path.starts_with("_id.");
            let paths = paths.chain(more).filter(|path| !is_key(path));
            let mut fields = doc! { "_id": 1 };
            fields.extend(paths.map(|path| (path, 1.into())));
            fields
        });
        let found = send(self.name(), "find", async move {
            let mut find = collection
                .find(filter)
                .sort(doc! { "_id": 1 })
                .limit(PAGE)
                .max_time(LIMIT)
                .hint(Hint::Name(hint.to_owned()))
                .read_concern(ReadConcern::majority());
            if let Some(projection) = projection {
                find = find.projection(projection);
            }
            find.await?.try_collect::<Vec<RawDocumentBuf>>().await
        });
        let found = found.await?;
        found.iter().map(|raw| Document::try_from(raw.as_ref()).map_err(Error::internal)).collect()
    }

    /// What an export says of a document: the document, or the elements of its lists that hold the subject. Each has the
    /// path of the field.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn told(
        &self,
        found: &Found,
        subject: &str,
    ) -> Result<Vec<(&'static str, Document)>, Error> {
        let read = self.read(self.by_key(found)?, "_id_", true).await?;
        let Some(mut whole) = read.into_iter().next() else { return Ok(Vec::new()) };
        let fields = self.subjects.fields.iter();
        let named: Vec<&Field> =
            fields.filter(|field| !matching(&whole, field, subject).is_empty()).collect();
        if let Some(field) = named.iter().find(|field| !field.path.contains("[]")) {
            for path in self.copies.iter().chain(self.subjects.untold) {
                take_out(&mut whole, path);
            }
            return Ok(vec![(field.path, whole)]);
        }
        if let Some(owned) = self.owned(&whole).filter(|_| named.is_empty()) {
            for field in owned.without {
                whole.remove(field);
            }
            return Ok(vec![(owned.field, whole)]);
        }
        let mut told = Vec::new();
        for field in named.into_iter().filter(|field| !field.is_copied) {
            let mut parts = Vec::new();
            elements(&whole, field.path, &|text| field.is_of(text, subject), &mut parts);
            told.extend(parts.into_iter().map(|part| (field.path, part)));
        }
        Ok(told)
    }

    /// Erases the subject from a document. Returns whether it changed or removed the document, as far as the subject was
    /// still where it was read, and no flow has begun in the document.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; it can be repeated.
    pub async fn erase(
        &self,
        found: &Found,
        subject: &str,
        pseudonym: &str,
    ) -> Result<bool, Error> {
        let (document, fields) = (&found.document, self.subjects.fields);
        for field in fields.iter().filter(|field| matches!(field.erasure, Erasure::Document)) {
            if let Some(value) = matching(document, field, subject).pop() {
                let mut filter = self.as_read(found)?;
                if plain(field.path) != "_id" && !field.path.starts_with("_id.") {
                    filter.insert(plain(field.path), value);
                }
                return self.remove(filter).await;
            }
        }
        let mut has_changed = false;
        let replacing = Update::replacing(document, fields, subject, pseudonym);
        for update in replacing.into_iter().chain(Update::pulling(document, fields, subject)) {
            has_changed |= self.update(found, update).await?;
        }
        Ok(has_changed)
    }

    /// The filter of a document by its key.
    fn by_key(&self, found: &Found) -> Result<Document, Error> {
        let lacks = |field: &str| Error::internal(format!("a document without {field}"));
        let id = found.document.get("_id").ok_or_else(|| lacks("_id"))?;
        let mut filter = doc! { "_id": id };
        if let Some(field) = self.shard_key.field().filter(|field| *field != "_id") {
            let value = found.document.get(field).ok_or_else(|| lacks(field))?;
            filter.insert(field, value);
        }
        Ok(filter)
    }

    /// The filter of a document by its key, as long as the fields that tell of a flow are as they were read.
    fn as_read(&self, found: &Found) -> Result<Document, Error> {
        let mut filter = self.by_key(found)?;
        for field in self.subjects.in_flight.map_or(&[][..], |flow| flow.fields) {
            let own = found.document.get(field).cloned();
            let is_same = own.map_or_else(|| doc! { "$exists": false }, |own| doc! { "$eq": own });
            filter.insert(*field, is_same);
        }
        Ok(filter)
    }

    async fn remove(&self, filter: Document) -> Result<bool, Error> {
        let (collection, filter) = (self.collection.clone(), known(filter, self.newest));
        let removed =
            send(self.name(), "delete", async move { collection.delete_one(filter).await });
        Ok(removed.await?.deleted_count > 0)
    }

    async fn update(&self, found: &Found, update: Update) -> Result<bool, Error> {
        let mut filter = self.as_read(found)?;
        filter.extend(update.filter);
        let (collection, filter) = (self.collection.clone(), known(filter, self.newest));
        let changed = send(self.name(), "update", async move {
            let mut action = collection.update_one(filter, update.operators);
            if !update.array_filters.is_empty() {
                action = action.array_filters(update.array_filters);
            }
            action.await
        });
        Ok(changed.await?.modified_count > 0)
    }
}
