//! Checks of the input of content.

use serde::Serialize;

use super::super::{
    documents::{ContentType, Detail},
    markdown,
    types::{ContentTextInput, ReaderRole},
};
use crate::graphql::{input, refusals::InvalidInput, scalars::LocaleTag};

/// A checked version.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Text {
    pub(super) title: String,
    pub(super) language: Option<LocaleTag>,
    pub(super) detail: Detail,
}

/// Checks the input of a version for content of that type.
pub(super) fn checked_text(
    kind: ContentType,
    text: &ContentTextInput,
) -> Result<Text, InvalidInput> {
    let ContentTextInput { title, body, language, summary, subtitle } = text;
    let only = |field: &str, value: &Option<String>, of: &[ContentType], most: usize| {
        let field = format!("text.{field}");
        match value {
            Some(_) if !of.contains(&kind) => {
                Err(InvalidInput::new(&field, "isn't something that this type of content has"))
            }
            value => value.as_deref().map(|value| input::text(&field, value, 0..=most)).transpose(),
        }
    };
    // Verbatim: in Markdown, spaces before the first line make it code.
    let body = input::verbatim("text.body", body.as_deref().unwrap_or_default(), 0..=100_000)?;
    if let Some(fault) = markdown::fault(&body) {
        return Err(InvalidInput::new("text.body", fault));
    }
    Ok(Text {
        title: input::text("text.title", title, 1..=300)?,
        language: language.clone(),
        detail: Detail {
            body,
            summary: only("summary", summary, &[ContentType::BlogEntry], 2_000)?,
            subtitle: only("subtitle", subtitle, &[ContentType::Blog, ContentType::Gallery], 300)?,
        },
    })
}

/// The roles as they are stored: a sorted set.
pub(super) fn stored_access(roles: &[ReaderRole]) -> Vec<String> {
    let mut names: Vec<_> = roles.iter().map(|role| role.name().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}
