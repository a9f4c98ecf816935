//! Characters that texts for display may contain, and whether a text is visible.
//!
//! A text is refused if it contains control characters (except line breaks and tabs) or characters that override
//! the writing direction, or if it leaves a directional isolate open. On a page, such a text would change the
//! display of the text around it. Directional marks and closed isolates are permitted, because right-to-left text
//! needs them.

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::{CodePointSetData, props::DefaultIgnorableCodePoint};

/// Whether a character is ignorable: it isn't displayed, and two names must not differ only in such characters. See
/// [`Default_Ignorable_Code_Point`](https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point).
pub fn is_ignorable(c: char) -> bool {
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Whether at least one character is displayed.
pub fn is_visible(text: &str) -> bool {
    // Unicode classifies the empty Braille pattern as a symbol, but it isn't displayed.
    let is_shown = |c: char| !c.is_whitespace() && !c.is_control() && c != '\u{2800}';
    text.chars().any(|c| is_shown(c) && !is_ignorable(c))
}

/// The text without white space and zero-width spaces at its ends. Joiners stay, because they change how the
/// adjacent characters are displayed.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
    })
}

/// The text in the form of [NFC](https://www.unicode.org/reports/tr15/), in which texts that are displayed alike are equal
/// whether their letters and accents are one character or two.
pub fn composed(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned()
}

/// Whether a character starts or ends a change of the writing direction (bidirectional control).
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the text is on one line.
pub(super) fn is_line(text: &str) -> bool {
    !text.contains(['\n', '\r', '\t', '\u{2028}', '\u{2029}'])
}

/// The fault of a text's characters; `None` if all of them are permitted.
pub(super) fn fault(text: &str) -> Option<&'static str> {
    if text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Some("holds control characters");
    }
    if text.contains(|c| matches!(c, '\u{202a}'..='\u{202e}')) {
        return Some("holds characters that override the direction of writing");
    }
    (!closes_isolates(text)).then_some("holds directional isolates that aren't closed")
}

/// Whether each directional isolate is closed in the paragraph in which it is opened, and each closing
/// character has an opening one.
/// <https://www.unicode.org/reports/tr9/#Explicit_Directional_Isolates>
fn closes_isolates(text: &str) -> bool {
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '\u{2066}'..='\u{2068}' => open += 1,
            '\u{2069}' if open == 0 => return false,
            '\u{2069}' => open -= 1,
            '\n' | '\r' | '\u{2029}' if open > 0 => return false,
            _ => {}
        }
    }
    open == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_needs_a_visible_character() {
        for blank in ["", " ", "\t\n", "\u{a0}", "\u{3000}", "\u{200b}", "\u{200d}\u{fe0f}"] {
            assert!(!is_visible(blank), "{blank:?}");
        }
        for blank in ["\u{ad}", "\u{3164}", "\u{2800}", "\u{2060}\u{feff}", "\u{200e}", "\u{7}"] {
            assert!(!is_visible(blank), "{blank:?}");
        }
        for shown in ["a", " \u{200b}.", "é", "e\u{301}", "字", "👩\u{200d}🚀", "שלום"] {
            assert!(is_visible(shown), "{shown:?}");
        }
    }

    #[test]
    fn ends_are_trimmed_and_the_middle_stays() {
        assert_eq!(trimmed("\u{a0}\u{feff} a\u{200b}b \u{3000}\n"), "a\u{200b}b");
        assert_eq!(trimmed("می\u{200c}"), "می\u{200c}", "a joiner is a part of the word");
    }

    #[test]
    fn directions_end_where_they_begin() {
        for fine in ["a\nb\tc\r\n", "\u{200f}שלום\u{200e}", "\u{2067}שלום\u{2069} 5", "a\u{2029}b"]
        {
            assert_eq!(fault(fine), None, "{fine:?}");
        }
        for bad in [
            "a\u{202e}gpj.exe",
            "\u{202a}a\u{202c}",
            "\u{2067}a",
            "a\u{2069}",
            "\u{2066}a\n\u{2069}",
        ] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
        assert_eq!(fault("a\0"), Some("holds control characters"));
        assert_eq!(fault("a\u{85}"), Some("holds control characters"));
    }
}
