//! File names, and slugs derived from them.

use crate::graphql::{scalars::Slug, text};

/// Length to which file names are truncated, in characters.
const NAME: usize = 200;
/// Maximum length of a slug that is derived from a file name, in characters.
const SLUG: usize = 64;

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
