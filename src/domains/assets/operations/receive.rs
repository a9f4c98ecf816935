//! Receives files. The beginning of a file is examined before anything is written. Names and slugs are derived from the
//! file.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use sha2::{Digest, Sha256};

use super::{
    super::types::{FileTooLarge, MediaTypeNotAllowed},
    media::{self, Media},
    reservation::Refusals,
};
use crate::{
    graphql::{prelude::*, text, upload::Incoming},
    mongo::gridfs::CHUNK,
};

/// Length to which file names are truncated, in characters.
const NAME: usize = 200;
/// Maximum length of a slug that is derived from a file name, in characters.
const SLUG: usize = 64;

/// A file whose beginning was read and examined.
pub(super) struct OpenFile<'a> {
    app: &'a App,
    pub(super) name: String,
    /// Its detected media type and metadata.
    pub(super) media: Media,
    /// The beginning, until it is read once more.
    head: Option<Bytes>,
    rest: BoxStream<'static, Result<Bytes>>,
    length: u64,
    since: Instant,
}

impl<'a> OpenFile<'a> {
    /// Reads the beginning of a file, without writing anything.
    pub(super) async fn open<U: Refusals>(
        app: &'a App,
        incoming: Incoming,
    ) -> Result<Self, Stop<U>> {
        let Incoming { name, media_type, bytes: rest } = incoming;
        let (name, media, since) = (file_name(&name), Media::default(), Instant::now());
        let mut file = Self { app, name, media, head: None, rest, length: 0, since };
        let (mut head, mut is_all) = (Vec::new(), false);
        while head.len() < CHUNK && !is_all {
            match file.next().await? {
                Some(piece) => head.extend_from_slice(&piece),
                None => is_all = true,
            }
        }
        let head = Bytes::from(head);
        file.media = media::look(&head, is_all, media_type.as_deref()).await;
        file.head = Some(head);
        let (found, types) = (&file.media.kind, &app.config().asset_types);
        if !types.iter().any(|allowed| is_of(found, allowed)) {
            let message =
                format!("by its bytes the file is {found}; taken is {}", types.join(", "));
            let (found, types) = (found.clone(), types.clone());
            return Err(MediaTypeNotAllowed::because(message, found, types).into());
        }
        Ok(file)
    }

    /// The next bytes of the file; first its beginning.
    ///
    /// # Errors
    /// They don't arrive, not in time, or the file is too large.
    pub(super) async fn next<U: Refusals>(&mut self) -> Result<Option<Bytes>, Stop<U>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        let Some(piece) = self.rest.next().await.transpose()? else { return Ok(None) };
        let config = self.app.config();
        let most = config.asset_bytes;
        self.length += piece.len() as u64;
        if self.length > most {
            let message = format!("the file is larger than {most} bytes");
            let most = Long(i64::try_from(most).unwrap_or(i64::MAX));
            return Err(FileTooLarge::because(message, most).into());
        }
        if self.since.elapsed() > Duration::from_secs(config.asset_transfer_seconds) {
            return Err(Error::bad_input("body", "took longer than an upload may").into());
        }
        Ok(Some(piece))
    }

    /// SHA-256 of the file, without writing it.
    pub(super) async fn digest<U: Refusals>(mut self) -> Result<String, Stop<U>> {
        let mut digest = Sha256::new();
        while let Some(piece) = self.next().await? {
            digest.update(&piece);
        }
        Ok(hex::encode(digest.finalize()))
    }
}

/// The name of a file without its folders, and without characters that a name can't have.
pub(super) fn file_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let fits = |c: &char| !c.is_control() && !text::is_bidi_control(*c);
    let name: String = last.chars().filter(fits).take(NAME).collect();
    let name = text::trimmed(&name);
    if text::is_visible(name.trim_matches('.')) { name.to_owned() } else { "file".to_owned() }
}

/// A slug derived from a file's name: its letters and digits, with hyphens for everything else.
pub(super) fn slug_of(name: &str) -> Option<Slug> {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if slug.len() == SLUG {
            break;
        }
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    Slug::parse_slug(slug.trim_end_matches('-'))
}

/// Whether a media type matches an allowed type or range.
fn is_of(media_type: &str, allowed: &str) -> bool {
    allowed == "*/*"
        || allowed == media_type
        || allowed.strip_suffix('*').is_some_and(|kind| media_type.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_no_name_has() {
        for (sent, name, slug) in [
            ("Lisbon, Tram 28.JPG", "Lisbon, Tram 28.JPG", Some("lisbon-tram-28-jpg")),
            ("../../etc/passwd", "passwd", Some("passwd")),
            ("C:\\pictures\\a.png", "a.png", Some("a-png")),
            ("a\0b\r\nc.png", "abc.png", Some("abc-png")),
            ("..%2f..%2fx", "..%2f..%2fx", Some("2f-2fx")),
            ("$where", "$where", Some("where")),
            ("..", "file", Some("file")),
            ("", "file", Some("file")),
            ("写真.png", "写真.png", Some("png")),
            ("写真", "写真", None),
            ("---", "---", None),
            ("\u{202e}gpj.exe", "gpj.exe", Some("gpj-exe")),
            ("\u{200b}\u{ad}", "file", Some("file")),
        ] {
            assert_eq!(file_name(sent), name, "{sent:?}");
            let made = slug_of(name);
            assert_eq!(made.as_ref().map(Slug::as_str), slug, "{sent:?}");
        }
        let long = "x".repeat(10_000);
        assert_eq!(
            (file_name(&long).len(), slug_of(&long).map(|slug| slug.as_str().len())),
            (200, Some(64))
        );
    }
}
