//! Divides texts into words for comparisons: in lower case, without accents. Also finds words that differ by one typing
//! error.
//!
//! The variants of a word are the word itself, and the word without one of its letters. Two words that are one error
//! apart have a common variant. Two words with a common variant may still be two errors apart, so [`is_near`] decides.

use std::collections::BTreeSet;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::{
    CodePointMapData,
    props::{GeneralCategory, GeneralCategoryGroup},
};
use sha2::{Digest, Sha256};

/// Maximum length of a word, in characters. The rest of a longer one is ignored.
const LONGEST: usize = 64;
/// Lengths of the words in which a typing error is found, in characters. Of a shorter word, too many others are one error
/// away.
const CORRECTED: std::ops::RangeInclusive<usize> = 4..=32;

/// The text in lower case, without accents, and with its letters in their compatible form. A letter with a sign that
/// isn't an accent, such as `ø`, becomes the letters that people type instead.
pub fn folded(text: &str) -> String {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd();
    let decomposed = decomposed.normalize(text);
    let mut plain = String::with_capacity(text.len());
    // The marks of other scripts stay: there they are letters.
    let letters = decomposed.chars().filter(|c| !matches!(c, '\u{300}'..='\u{36f}'));
    for letter in letters.flat_map(char::to_lowercase) {
        match letter {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'þ' => plain.push_str("th"),
            'ø' => plain.push('o'),
            'đ' | 'ð' => plain.push('d'),
            'ł' => plain.push('l'),
            'ı' => plain.push('i'),
            // The capital İ in lower case is an i with a dot above it.
            '\u{300}'..='\u{36f}' => {}
            letter => plain.push(letter),
        }
    }
    ComposingNormalizerBorrowed::new_nfc().normalize(&plain).into_owned()
}

/// Whether a character of a folded text is a part of a word: a letter, a digit or a mark.
pub fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
        || GeneralCategoryGroup::Mark.contains(CodePointMapData::<GeneralCategory>::new().get(c))
}

/// The words of a text, folded, in their order. Everything but letters, digits and marks is between words.
pub fn words(text: &str) -> Vec<String> {
    let folded = folded(text);
    let words = folded.split(|c| !is_of_word(c)).filter(|word| !word.is_empty());
    words.map(|word| word.chars().take(LONGEST).collect()).collect()
}

/// Whether a typing error in the word is found.
pub fn is_corrected(word: &str) -> bool {
    CORRECTED.contains(&word.chars().count())
}

/// The variants of a word: digests of the word and of what is left of it without each of its letters. Different
/// variants may have one digest.
pub fn variants(word: &str) -> BTreeSet<i32> {
    let without = |(at, letter): (usize, char)| {
        let (before, rest) = word.split_at(at);
        format!("{before}{}", rest.strip_prefix(letter).unwrap_or_default())
    };
    let shorter = word.char_indices().map(without).map(|variant| digest(&variant));
    shorter.chain([digest(word)]).collect()
}

fn digest(word: &str) -> i32 {
    let digest = Sha256::digest(word.as_bytes());
    i32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Whether the words differ by at most one typing error: a letter more, a letter less, another letter, or two neighbours
/// that changed places.
pub fn is_near(left: &str, right: &str) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let same = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let (left, right) = (&left[same..], &right[same..]);
    let same = left.iter().rev().zip(right.iter().rev()).take_while(|(l, r)| l == r).count();
    match (&left[..left.len() - same], &right[..right.len() - same]) {
        ([] | [_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded() {
        assert_eq!(words("Così fan TUTTE"), ["cosi", "fan", "tutte"]);
        assert_eq!(words("Øystein Łódź – Straße (ﬁn)"), ["oystein", "lodz", "strasse", "fin"]);
        assert_eq!(words("rock'n'roll / AC-DC №5"), ["rock", "n", "roll", "ac", "dc", "no5"]);
        assert_eq!(words("e\u{301}tude İstanbul"), ["etude", "istanbul"]);
        assert_eq!(words("カタガナ ガ हिन्दी שלום"), ["カタガナ", "ガ", "हिन्दी", "שלום"]);
        assert!(words(" 🎷 .* $ ").is_empty());
        assert_eq!(words(&"x".repeat(300)), ["x".repeat(64)]);
    }

    #[test]
    fn one_error_is_near() {
        for near in ["supreme", "supremee", "spreme", "suprene", "surpeme", "usupreme", "suprem"] {
            assert!(is_near("supreme", near), "{near}");
            let common = variants("supreme").intersection(&variants(near)).count();
            assert!(common > 0, "{near}");
        }
        for far in ["suprm", "prsueme", "supremeees", "surpene", "reme", ""] {
            assert!(!is_near("supreme", far), "{far}");
        }
        assert!(is_near("abab", "baab"));
        assert!(!is_near("abcd", "badc"));
    }
}
