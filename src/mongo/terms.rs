//! Finds documents by the beginnings of their words, and by words with a typing error.
//!
//! A document holds its words and the variants of its most important ones ([`words`](super::words)), each in an array
//! with an index. A word that is being typed is a range of the first index. Variants are values in the second one. A
//! text that a user typed never becomes a regular expression.

use std::{
    any::TypeId,
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use mongodb::bson::{Document, doc};

use super::{
    Collection, Stored,
    collection::List,
    consistency,
    driver::encode,
    expression::{both, literal, starts_with, stored},
    indexes::Index,
    lists::EXAMINING,
    read_bytes,
    recent::{Answer, Key},
    stored::document,
    words::{folded, is_corrected, is_near, is_of_word, variants, words},
};
use crate::{config::Consistency, error::Error};

/// Maximum number of words of a document. Those of its names come first.
const WORDS: usize = 500;
/// Maximum number of words of a document in which typing errors are found.
const CORRECTED: usize = 50;
/// Maximum number of words of a typed text. Others are ignored.
const TYPED: usize = 8;
/// Documents per command when terms are corrected.
const BATCH: i64 = 250;
/// `maxTimeMS` of a correction.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of documents that are compared with a text that has a typing error.
const CANDIDATES: i64 = 100;

document! {
    /// The words by which a document is found.
    #[derive(Default, PartialEq, Eq)]
    pub struct Terms {
        /// Its words in lower case and without accents, sorted, at most 500.
        #[serde(default)]
        pub words: Vec<String>,
        /// Digests of the variants of the words of its names: of each word, and of each word without one letter.
        #[serde(default)]
        pub typos: Vec<i32>,
    }
}

impl Terms {
    /// Name of the index of the words. Its second field is the order of documents with the same word.
    pub const BY_WORD: &'static str = "words";
    /// The index of the variants.
    pub const BY_VARIANT: Index =
        Index::plain("typos", "search.typos", "suggestions for a word with a typing error");

    /// The terms of a document with these names and other texts. Typing errors are found in words of names only.
    pub fn of<'a>(
        names: impl Iterator<Item = &'a str>,
        others: impl Iterator<Item = &'a str>,
    ) -> Self {
        let (mut kept, mut typos) = (BTreeSet::new(), BTreeSet::new());
        let mut corrected = 0;
        for word in names.flat_map(words) {
            if kept.len() < WORDS && !kept.contains(&word) {
                if corrected < CORRECTED && is_corrected(&word) {
                    corrected += 1;
                    typos.append(&mut variants(&word));
                }
                kept.insert(word);
            }
        }
        for word in others.flat_map(words) {
            if kept.len() < WORDS {
                kept.insert(word);
            }
        }
        Self { words: kept.into_iter().collect(), typos: typos.into_iter().collect() }
    }
}

/// A document type with [`Terms`], stored as `search`.
pub trait Termed: Stored {
    /// The fields of the type but for its terms.
    const FIELDS: &'static [&'static str];

    /// The condition of documents that are suggested. Default: all are.
    fn condition() -> Document {
        Document::new()
    }

    /// Takes its terms, as far as they were read.
    fn take_terms(&mut self) -> Option<Terms>;
}

/// A text that is being typed, in words. The last word may be the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Typed {
    words: Arc<[String]>,
    /// Whether the last word may go on.
    is_open: bool,
}

/// A word of a typed text.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    word: &'a str,
    is_open: bool,
}

impl Typed {
    /// The words of a text. A character behind the last word completes it.
    pub fn of(text: &str) -> Self {
        let mut words = words(text);
        let is_open = words.len() <= TYPED && folded(text).ends_with(is_of_word);
        words.truncate(TYPED);
        Self { words: words.into(), is_open }
    }

    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.words.iter().map(|word| size_of::<String>() + word.len()).sum()
    }

    fn each(&self) -> impl DoubleEndedIterator<Item = Word<'_>> {
        let last = self.words.len().saturating_sub(1);
        self.words.iter().enumerate().map(move |(at, word)| Word {
            word: word.as_str(),
            is_open: self.is_open && at == last,
        })
    }

    /// Documents that have all the words.
    fn filter(&self) -> Document {
        let has = |Word { word, is_open }: Word<'_>| {
            let word = if is_open {
                doc! { "$elemMatch": starts_with(word) }
            } else {
                doc! { "$eq": word }
            };
            doc! { "search.words": word }
        };
        self.each().map(has).fold(Document::new(), both)
    }

    /// Filters of the documents that may have a typed word with one error, in the order in which they are tried. The first one is
    /// that of the longest typed word. If this may be the beginning of a word, it can be more than one error away from the whole
    /// word. Then the filter of the longest complete word is the second one. Empty if no typed word is corrected.
    fn near(&self) -> Vec<Document> {
        let corrected = || self.each().rev().filter(|typed| is_corrected(typed.word));
        let length = |typed: &Word<'_>| typed.word.chars().count();
        let longest = corrected().max_by_key(length);
        let is_beginning = longest.is_some_and(|typed| typed.is_open);
        let complete = corrected().filter(|typed| is_beginning && !typed.is_open);
        let tried = longest.into_iter().chain(complete.max_by_key(length));
        let near = |typed: Word<'_>| {
            let variants: Vec<i32> = variants(typed.word).into_iter().collect();
            doc! { "search.typos": { "$in": variants } }
        };
        tried.map(near).collect()
    }

    /// The text as it is found in these terms, and the number of its words that were corrected; `None` if one of the words
    /// isn't there.
    fn found_in(&self, terms: &Terms) -> Option<(usize, String)> {
        let (mut corrected, mut text) = (0, Vec::new());
        for typed in self.each() {
            if terms.words.iter().any(|word| typed.is(word)) {
                text.push(typed.word);
                continue;
            }
            let word = terms.words.iter().find(|word| typed.is_nearly(word))?;
            corrected += 1;
            text.push(word);
        }
        Some((corrected, text.join(" ")))
    }
}

impl Word<'_> {
    fn is(self, word: &str) -> bool {
        if self.is_open { word.starts_with(self.word) } else { word == self.word }
    }

    fn is_nearly(self, word: &str) -> bool {
        is_corrected(self.word) && is_corrected(word) && is_near(self.word, word)
    }
}

/// A document that was found.
#[derive(Debug)]
pub struct Suggested<T> {
    /// The document, without its terms.
    pub found: T,
    /// The text that was searched instead of the typed one, if that had errors.
    pub corrected: Option<String>,
}

impl<T: Termed> Collection<T> {
    /// The first documents that have all words of a text and meet the condition of the type, by the first word that
    /// begins so. If there are none, those whose names have the words with at most one typing error each. All reads together take
    /// [`EXAMINING`] at the most. Callers may share an answer, which may be as old as the setting `suggestion_cache_seconds`
    /// says ([`recent`](super::recent)).
    ///
    /// # Errors
    /// `Timeout` if the words are so frequent that too many documents had to be examined; `Unread` or `Internal`.
    pub async fn suggest(
        &self,
        typed: &Typed,
        limit: i64,
    ) -> Result<Vec<Arc<Suggested<T>>>, Error> {
        if typed.words.is_empty() {
            return Ok(Vec::new());
        }
        let reads = self.loader().reads(T::GROUP);
        let key = Key { of: TypeId::of::<T>(), reads, typed: typed.clone(), limit };
        let read = || {
            // Any of the callers may poll it, whatever consistency its own field asks for.
            let asked = if reads.is_eventual { Consistency::Eventual } else { Consistency::Strong };
            consistency::asked(Some(asked), self.clone().read_suggestions(typed.clone(), limit))
        };
        let answer = self.loader().recent().answer(self.name(), key, read).await?;
        let found = answer.found.downcast::<Vec<Arc<Suggested<T>>>>();
        let other = |_| Error::internal("suggestions of another type");
        Ok(found.map_err(other)?.to_vec())
    }

    async fn read_suggestions(self, typed: Typed, limit: i64) -> Result<Answer, Error> {
        // Several requests share them.
        let found = read_bytes::uncounted(self.find_words(&typed, limit)).await?;
        let found: Vec<_> = found.into_iter().map(Arc::new).collect();
        let bytes = |one: &Arc<Suggested<T>>| {
            let document = encode(&one.found).map_or(0, |found| found.as_bytes().len());
            let text = one.corrected.as_ref().map_or(0, String::len);
            size_of::<Suggested<T>>() + document + text
        };
        Ok(Answer { bytes: found.iter().map(bytes).sum(), found: Arc::new(found) })
    }

    async fn find_words(&self, typed: &Typed, limit: i64) -> Result<Vec<Suggested<T>>, Error> {
        let mut projection: Document =
            T::FIELDS.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
        let list = List {
            filter: both(T::condition(), typed.filter()),
            limit,
            projection: Some(projection.clone()),
            // The order is that of the index. A sort by an element of an array couldn't use it.
            hint: Some(Terms::BY_WORD),
            time: Some(EXAMINING),
            ..List::default()
        };
        let since = Instant::now();
        let found = self.list(list).await?;
        if !found.is_empty() {
            let suggested = |found| Suggested { found, corrected: None };
            return Ok(found.into_iter().map(suggested).collect());
        }
        projection.insert("search.words", 1);
        for near in typed.near() {
            let list = List {
                filter: both(T::condition(), near),
                limit: CANDIDATES,
                projection: Some(projection.clone()),
                hint: Some(Terms::BY_VARIANT.name),
                // For MongoDB, zero means no limit.
                time: Some(EXAMINING.saturating_sub(since.elapsed()).max(Duration::from_millis(1))),
                ..List::default()
            };
            let found = corrected(typed, self.list(list).await?, limit);
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

/// The documents that have the words of a text with at most one typing error each, with the fewest errors first.
fn corrected<T: Termed>(typed: &Typed, candidates: Vec<T>, limit: i64) -> Vec<Suggested<T>> {
    let compared = |mut found: T| {
        let (corrected, text) = typed.found_in(&found.take_terms()?)?;
        Some((corrected, found, text))
    };
    let mut found: Vec<_> = candidates.into_iter().filter_map(compared).collect();
    found.sort_by_key(|(corrected, ..)| *corrected);
    found.truncate(usize::try_from(limit).unwrap_or_default());
    let suggested =
        |(corrected, found, text)| Suggested { found, corrected: (corrected > 0).then_some(text) };
    found.into_iter().map(suggested).collect()
}

impl<T: Stored> Collection<T> {
    /// Corrects the terms of all documents, in the order of `_id`. `outdated` returns the terms of a document that has
    /// others, and a filter that matches as long as these follow from it. Returns the number of documents that had
    /// others. It may be interrupted and repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been corrected.
    pub async fn correct_terms(
        &self,
        id: impl Fn(&T) -> &str,
        outdated: impl Fn(&T) -> Option<(Document, Terms)>,
    ) -> Result<u64, Error> {
        let (mut last, mut corrected) = (String::new(), 0);
        loop {
            let next = List {
                filter: doc! { "_id": { "$gt": &last } },
                sort: doc! { "_id": 1 },
                limit: BATCH,
                hint: Some("_id_"),
                ..List::default()
            };
            let found = self.list(next).await?;
            let Some(end) = found.last() else { return Ok(corrected) };
            last = id(end).to_owned();
            let update = |(filter, terms): (Document, Terms)| {
                (filter, vec![doc! { "$set": { "search": literal(stored(&terms)) } }])
            };
            let updates: Vec<_> = found.iter().filter_map(&outdated).map(update).collect();
            corrected += u64::try_from(updates.len()).unwrap_or(u64::MAX);
            // A document that doesn't match any more was changed since by a gateway, which stores its terms.
            self.update_all(updates, LIMIT).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(name: &str) -> Terms {
        Terms::of([name].into_iter(), ["Part Two"].into_iter())
    }

    fn found(text: &str, name: &str) -> Option<String> {
        Typed::of(text).found_in(&terms(name)).map(|(_, text)| text)
    }

    #[test]
    fn only_the_last_word_may_go_on() {
        assert_eq!(
            Typed::of("Lov").filter(),
            doc! { "search.words": { "$elemMatch": { "$gte": "lov", "$lt": "low" } } }
        );
        assert_eq!(Typed::of("love ").filter(), doc! { "search.words": { "$eq": "love" } });
        let terms = terms("A Love Supreme");
        let is = |text| matches!(Typed::of(text).found_in(&terms), Some((0, _)));
        assert!(is("sup") && is("a lo") && is("love sup") && is("supreme love"));
        assert!(!is("lov supreme") && !is("lo ") && !is("upreme"));
    }

    #[test]
    fn a_beginning_gives_way_to_a_complete_word() {
        let of = |word: &str| {
            let variants: Vec<i32> = variants(word).into_iter().collect();
            doc! { "search.typos": { "$in": variants } }
        };
        assert_eq!(Typed::of("lvoe supre").near(), [of("supre"), of("lvoe")]);
        assert_eq!(Typed::of("lvoe supre ").near(), [of("supre")]);
        assert_eq!(Typed::of("supreme lvoe").near(), [of("supreme")]);
        assert_eq!(Typed::of("lov supre").near(), [of("supre")]);
        assert!(Typed::of("lov").near().is_empty());
    }

    #[test]
    fn each_word_may_have_an_error() {
        let name = "A Love Supreme";
        assert_eq!(found("lvoe suprene", name).as_deref(), Some("love supreme"));
        assert_eq!(found("love surpene", name), None);
        assert_eq!(found("lovv", name).as_deref(), Some("love"));
        assert_eq!(found("lve", name), None, "short words aren't corrected");
    }

    #[test]
    fn typing_errors_are_found_in_names_only() {
        let of = terms("Love");
        assert_eq!(of.words, ["love", "part", "two"]);
        assert_eq!(of.typos.len(), 5);
    }
}
