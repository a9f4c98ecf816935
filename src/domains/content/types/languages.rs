//! Content in several languages: its input, the choice of a language for a reader, and the list of translations.

use std::iter;

use super::{
    super::{
        documents::{ContentTranslation, ContentType, Detail},
        markdown,
    },
    inputs::{ContentTextInput, markdown_text},
    nodes::Shown,
};
use crate::graphql::{
    declared::{each, nested},
    prelude::*,
    scalars::nearest,
};

/// Maximum number of other languages.
const TRANSLATIONS: usize = 20;
/// Maximum number of characters of all texts of a version. A document has several versions.
const CHARACTERS: usize = 300_000;

input! {
    /// Title and texts of content in another language.
    pub struct ContentTranslationInput {
        /// Language, with a region if the texts are for that region only.
        pub locale: LocaleTag,
        /// Title in this language, 1 to 300 characters.
        pub title: String where text(1..=300),
        /// Text in Markdown, up to 100,000 characters. Default: that of another language is shown.
        pub body: Option<String> where optional(markdown_text),
        /// Summary in plain text, up to 2,000 characters; for blog entries only. Default: that of another language is shown.
        pub summary: Option<String> where optional(text(0..=2_000)),
        /// Subtitle, up to 300 characters; for blogs and galleries only. Default: that of another language is shown.
        pub subtitle: Option<String> where optional(text(0..=300)),
    }
}

/// A version of content, each language once.
pub(super) fn version_text(field: &str, text: &mut ContentTextInput) -> Result<(), Unusable> {
    nested()(field, text)?;
    let Some(translations) = &mut text.translations else { return Ok(()) };
    let at = format!("{field}.translations");
    each(TRANSLATIONS, nested())(&at, translations)?;
    let mut languages: Vec<&LocaleTag> = text.language.iter().collect();
    for (position, translation) in translations.iter().enumerate() {
        if languages.contains(&&translation.locale) {
            let field = format!("{at}.{position}.locale");
            return Err(InvalidInput::new(&field, "stands there twice").into());
        }
        languages.push(&translation.locale);
    }
    let bodies = translations.iter().filter_map(|translation| translation.body.as_ref());
    let characters = text.body.iter().chain(bodies).map(|body| body.chars().count());
    if characters.sum::<usize>() > CHARACTERS {
        let reason = format!("the texts of all languages exceed {CHARACTERS} characters together");
        return Err(InvalidInput::new(&at, reason).into());
    }
    Ok(())
}

impl ContentTranslationInput {
    /// The translation as it is stored.
    pub(super) fn stored(&self) -> ContentTranslation {
        let Self { locale, title, body, summary, subtitle } = self.clone();
        ContentTranslation { locale, title, body, summary, subtitle }
    }
}

object! {
    /// Title and texts of content in another language.
    impl ContentTranslation as translation {
        /// Language, with a region if the texts are for that region only.
        locale: &LocaleTag = &translation.locale,
        /// Title in this language.
        title: &str = &translation.title,
        /// Text in this language, in Markdown; null if there is none.
        body: Option<&str> = translation.body.as_deref(),
        /// Summary of a blog entry in this language; null if there is none, and for other types.
        summary: Option<&str> = translation.summary.as_deref(),
        /// Subtitle of a blog or gallery in this language; null if there is none, and for other types.
        subtitle: Option<&str> = translation.subtitle.as_deref(),
        /// Text in this language as HTML that is safe to display; null if there is none.
        html?: Option<String> = match &translation.body {
            Some(body) => Some(markdown::html(body).await?),
            None => None,
        },
    }
}

impl Detail {
    /// Its texts in other languages.
    pub(super) fn translations(&self) -> &[ContentTranslation] {
        self.translations.as_deref().unwrap_or_default()
    }
}

impl Shown {
    /// A text in the language that was asked for, with that language. `None` if the text in the content's own language is
    /// shown.
    fn translated<'a>(
        &'a self,
        of: impl Fn(&'a ContentTranslation) -> Option<&'a str>,
    ) -> Option<(&'a str, &'a LocaleTag)> {
        let (wanted, translations) = (self.locale()?, self.detail().translations());
        if translations.is_empty() {
            return None;
        }
        // Content whose language is unknown has an empty tag, which nobody asks for.
        let own = self.own_language().map_or("", LocaleTag::as_str);
        let others = translations.iter().filter_map(|other| Some((&other.locale, of(other)?)));
        let others = others.map(|(tag, text)| (tag.as_str(), Some((text, tag))));
        let all: Vec<_> = iter::once((own, None)).chain(others).collect();
        nearest(all.iter().copied(), wanted.as_str()).flatten()
    }

    /// The title in the language that was asked for.
    pub(in super::super) fn title(&self) -> &str {
        let translated = self.translated(|other| Some(&other.title));
        translated.map_or_else(|| self.own_title(), |(title, _)| title)
    }

    /// The language of [`Self::title`].
    pub(in super::super) fn language(&self) -> Option<&LocaleTag> {
        let translated = self.translated(|other| Some(&other.title));
        translated.map_or_else(|| self.own_language(), |(_, language)| Some(language))
    }

    /// The text in Markdown, in the language that was asked for if there is one.
    pub(super) fn body(&self) -> &str {
        let translated = self.translated(|other| other.body.as_deref());
        translated.map_or_else(|| self.detail().body.as_str(), |(body, _)| body)
    }

    /// As [`Self::body`].
    pub(super) fn summary(&self) -> Option<&str> {
        let translated = self.translated(|other| other.summary.as_deref());
        translated.map(|(summary, _)| summary).or(self.detail().summary.as_deref())
    }

    /// As [`Self::body`].
    pub(super) fn subtitle(&self) -> Option<&str> {
        let translated = self.translated(|other| other.subtitle.as_deref());
        translated.map(|(subtitle, _)| subtitle).or(self.detail().subtitle.as_deref())
    }
}

/// Checks that content of a type has the fields that are given. `field` is the text with them.
pub(super) fn demand_fields(
    kind: ContentType,
    field: &str,
    has_summary: bool,
    has_subtitle: bool,
) -> Result<(), InvalidInput> {
    let other = match (has_summary, has_subtitle) {
        (true, _) if !kind.has_summary() => "summary",
        (_, true) if !kind.has_subtitle() => "subtitle",
        _ => return Ok(()),
    };
    let field = format!("{field}.{other}");
    Err(InvalidInput::new(&field, "isn't a field of this type of content"))
}

/// The translations as content of a type stores them; `None` if there are none.
pub(super) fn translations_of(
    input: &ContentTextInput,
    kind: ContentType,
) -> Result<Option<Vec<ContentTranslation>>, InvalidInput> {
    let given = input.translations.as_deref().unwrap_or_default();
    for (position, translation) in given.iter().enumerate() {
        let ContentTranslationInput { summary, subtitle, .. } = translation;
        let field = format!("text.translations.{position}");
        demand_fields(kind, &field, summary.is_some(), subtitle.is_some())?;
    }
    let stored: Vec<_> = given.iter().map(ContentTranslationInput::stored).collect();
    Ok((!stored.is_empty()).then_some(stored))
}
