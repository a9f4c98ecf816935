//! Normal forms of names: different spellings of one name have the same normal form.

use icu_normalizer::ComposingNormalizerBorrowed;
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection, skeleton};

use super::{
    documents::{Kind, Name},
    types::{IdentityInput, OidcInput},
};
use crate::graphql::{prelude::*, text::is_ignorable};

/// Brings a name from a caller into its normal form.
pub(super) fn name(field: &str, given: &mut IdentityInput) -> Result<(), InvalidInput> {
    match given {
        IdentityInput::Email(address) => *address = email(&format!("{field}.email"), address)?,
        IdentityInput::Username(name) => *name = username(&format!("{field}.username"), name)?,
        IdentityInput::Phone(number) => *number = phone(&format!("{field}.phone"), number)?,
        IdentityInput::Oidc(OidcInput { issuer: of, subject: who }) => {
            issuer(&format!("{field}.oidc.issuer"), of)?;
            subject(&format!("{field}.oidc.subject"), who)?;
        }
    }
    Ok(())
}

/// Brings a name that is to be claimed into its normal form. Usernames from before these rules can still be
/// found and released.
pub(super) fn new_name(field: &str, given: &mut IdentityInput) -> Result<(), InvalidInput> {
    name(field, given)?;
    let IdentityInput::Username(username) = given else { return Ok(()) };
    let invalid = |reason| Err(InvalidInput::new(&format!("{field}.username"), reason));
    fault(username).map_or(Ok(()), invalid)
}

/// A name in its normal form.
impl From<&IdentityInput> for Name {
    fn from(normal: &IdentityInput) -> Self {
        let (kind, value) = match normal {
            IdentityInput::Email(address) => (Kind::Email, address.clone()),
            IdentityInput::Username(name) => (Kind::Username, name.clone()),
            IdentityInput::Phone(number) => (Kind::Phone, number.clone()),
            IdentityInput::Oidc(OidcInput { issuer, subject }) => {
                (Kind::Oidc, format!("{issuer}#{subject}"))
            }
        };
        Self { kind, value }
    }
}

/// Whether a name is stored in its normal form.
pub(super) fn is_normal(name: &Name) -> bool {
    let value = &name.value;
    let again = match name.kind {
        Kind::Email => email("", value),
        Kind::Username => username("", value),
        Kind::Phone => phone("", value),
        Kind::Oidc => {
            // No issuer contains a `#`.
            let (of, who) = value.split_once('#').unwrap_or_default();
            return issuer("", of).is_ok() && subject("", who).is_ok();
        }
    };
    again.is_ok_and(|again| again == *value)
}

/// An address in lower case, with its domain in ASCII as in the domain name system. The part before the `@`
/// is also lower-cased: [RFC 5321](https://www.rfc-editor.org/rfc/rfc5321#section-2.4) leaves its case to the
/// receiving host, and none distinguishes people by it.
fn email(field: &str, given: &str) -> Result<String, InvalidInput> {
    let wrong = || InvalidInput::new(field, "isn't an email address such as ann@shop.example");
    let text = input::text(field, given.trim(), 3..=254)?;
    let (local, domain) = text.rsplit_once('@').ok_or_else(wrong)?;
    let local = folded(local);
    let odd = |c: char| {
        c.is_whitespace() || c.is_control() || is_ignorable(c) || "()<>[]:;@\\,\"".contains(c)
    };
    let dots = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    if local.is_empty() || local.len() > 64 || dots || local.contains(odd) {
        return Err(wrong());
    }
    let domain = idna::domain_to_ascii_strict(domain).map_err(|_| wrong())?;
    if !domain.contains('.') || domain.ends_with('.') {
        return Err(wrong());
    }
    let address = format!("{local}@{domain}");
    if address.len() > 254 { Err(wrong()) } else { Ok(address) }
}

/// Characters that a username may have between its letters and digits.
const SIGNS: [char; 3] = ['.', '_', '-'];

/// The reason why a well-formed username isn't accepted. Its letters must be of one script, or of scripts
/// that one language uses together: level "highly restrictive" of [UTS
/// 39](https://www.unicode.org/reports/tr39/#Restriction_Level_Detection). So no username imitates another
/// with a similar letter of another script.
fn fault(username: &str) -> Option<String> {
    let pairs = username.chars().zip(username.chars().skip(1));
    if pairs.into_iter().any(|(one, next)| SIGNS.contains(&one) && SIGNS.contains(&next)) {
        return Some("takes one '.', '_' or '-' at a time".to_owned());
    }
    if !username.check_restriction_level(RestrictionLevel::HighlyRestrictive) {
        let reason = "takes letters of one script, and none that are hardly in use";
        return Some(reason.to_owned());
    }
    // A name in another script can't be taken for one in Latin letters as a whole: only few of its words
    // consist of similar letters alone, and "саша" is one of them.
    if !username.chars().any(is_latin) {
        return None;
    }
    let (letter, twin) = username.chars().find_map(|c| Some((c, ascii_twin(c)?)))?;
    Some(format!("takes no {letter}, which looks like {twin}"))
}

/// Whether a character is a letter of the Latin script.
fn is_latin(c: char) -> bool {
    c.is_alphabetic() && ['a', c].iter().collect::<String>().is_single_script()
}

/// The ASCII letter or digit as which [UTS 39](https://www.unicode.org/reports/tr39/#Confusable_Detection)
/// reads another character, such as `i` for a dotless i. Letters with marks, and ligatures, have none: they
/// differ from plain letters.
fn ascii_twin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let mut buffer = [0; 4];
    let mut read = skeleton(c.encode_utf8(&mut buffer));
    let twin = read.next().filter(char::is_ascii_alphanumeric)?;
    read.next().is_none().then_some(twin)
}

/// A username of letters and digits, with `.`, `_`, `-` between them.
fn username(field: &str, given: &str) -> Result<String, InvalidInput> {
    let text = input::text(field, given.trim(), 1..=64)?;
    let name = folded(&text);
    let fits = |c: char| (c.is_alphanumeric() && !is_ignorable(c)) || SIGNS.contains(&c);
    let count = name.chars().count();
    if !(3..=64).contains(&count)
        || !name.chars().all(fits)
        || name.starts_with(SIGNS)
        || name.ends_with(SIGNS)
    {
        let reason = "takes 3 to 64 letters and digits, with '.', '_' or '-' between them";
        return Err(InvalidInput::new(field, reason));
    }
    Ok(name)
}

/// An international number as in [E.164](https://www.itu.int/rec/T-REC-E.164): `+` and up to 15 digits.
fn phone(field: &str, given: &str) -> Result<String, InvalidInput> {
    let text = input::text(field, given.trim(), 1..=40)?;
    let written = |c: &char| !matches!(c, ' ' | '-' | '.' | '/' | '(' | ')' | '\u{a0}');
    let number: String = text.chars().filter(written).collect();
    let digits = number.strip_prefix('+').or_else(|| number.strip_prefix("00"));
    let fits = |digits: &&str| {
        (7..=15).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0')
    };
    let reason = "takes an international number such as +49 221 123456";
    let digits = digits.filter(fits).ok_or_else(|| InvalidInput::new(field, reason))?;
    Ok(format!("+{digits}"))
}

/// An issuer as [OpenID Connect](https://openid.net/specs/openid-connect-core-1_0.html#IDToken) defines it: a
/// URL without query or fragment, compared exactly.
fn issuer(field: &str, given: &str) -> Result<(), InvalidInput> {
    input::verbatim(field, given, 1..=255)?;
    let fits = |url: reqwest::Url| {
        url.scheme() == "https" && url.query().is_none() && url.fragment().is_none()
    };
    if !reqwest::Url::parse(given).is_ok_and(fits)
        || given.contains(|c: char| !c.is_ascii_graphic())
    {
        return Err(InvalidInput::new(field, "takes a URL that begins with https://"));
    }
    Ok(())
}

/// A subject of an issuer: up to 255 ASCII characters; case matters.
fn subject(field: &str, given: &str) -> Result<(), InvalidInput> {
    input::verbatim(field, given, 1..=255)?;
    if !given.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(InvalidInput::new(field, "takes ASCII characters without spaces"));
    }
    Ok(())
}

/// The text in lower case and in the form of [NFKC](https://www.unicode.org/reports/tr15/).
fn folded(text: &str) -> String {
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    // Lower-casing may produce text that isn't normalised.
    let lower = nfkc.normalize(text).to_lowercase();
    nfkc.normalize(&lower).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(mut given: IdentityInput) -> Option<Name> {
        name("identity", &mut given).ok().map(|()| Name::from(&given))
    }

    fn value(given: IdentityInput) -> Option<String> {
        normal(given).map(|name| name.value)
    }

    #[test]
    fn addresses_that_mean_the_same_are_the_same() {
        let email = |text: &str| value(IdentityInput::Email(text.into()));
        assert_eq!(email(" Anna.Berg@Example.ORG "), Some("anna.berg@example.org".into()));
        assert_eq!(email("anna@bücher.example"), Some("anna@xn--bcher-kva.example".into()));
        assert_eq!(email("ａｎｎａ@example.org"), Some("anna@example.org".into()));
        assert_eq!(email("anna+shop@example.org"), Some("anna+shop@example.org".into()));
        assert_eq!(email("J\u{30c}@example.org"), email("\u{1f0}@example.org"));
        for bad in [
            "",
            "anna",
            "@example.org",
            "anna@",
            "a b@example.org",
            "anna@localhost",
            "anna@exa mple.org",
            "a@b@example.org",
            "anna@-example.org",
            "a..b@example.org",
            "anna\u{200b}@example.org",
            "an\u{200d}na@example.org",
            "an\u{3164}na@example.org",
            "an\u{ad}na@example.org",
        ] {
            assert_eq!(email(bad), None, "{bad}");
        }
    }

    #[test]
    fn usernames_that_mean_the_same_are_the_same() {
        let username = |text: &str| value(IdentityInput::Username(text.into()));
        assert_eq!(username("Anna_Berg"), Some("anna_berg".into()));
        assert_eq!(username("ﬁnn"), Some("finn".into()));
        assert_eq!(username("Ａｎｎａ"), Some("anna".into()));
        assert_eq!(username("\u{17f}am"), Some("sam".into()), "a long s");
        assert_eq!(username("e\u{301}mile"), Some("émile".into()));
        for bad in ["", "ab", "-anna", "anna.", "anna berg", "anna@berg", "a\u{200b}nna", "$anna"] {
            assert_eq!(username(bad), None, "{bad}");
        }
        assert_eq!(username("an\u{3164}na"), None, "a letter that isn't shown");
    }

    #[test]
    fn nobody_gets_a_username_that_looks_like_another() {
        let new =
            |text: &str| new_name("identity", &mut IdentityInput::Username(text.into())).is_ok();
        for fine in [
            "anna",
            "anna_berg-2.x",
            "émile",
            "анна",
            "ελένη",
            "佐藤ゆき",
            "佐藤taro",
            "김anna",
            "אנה",
            "саша",
            "čapek",
            "łukasz",
            "bæk",
            "straße",
            "şimşek",
        ] {
            assert!(new(fine), "{fine}");
        }
        // A Cyrillic а, a Greek ο, letters that are rarely used, and letters that look like ASCII letters: two
        // dotless i, a thorn, an f with a hook, the Han zero, the g of phonetics and a small capital.
        for bad in [
            "\u{430}dmin",
            "r\u{3bf}ot",
            "аннаx",
            "a..b",
            "a._b",
            "a--b",
            "ᚠᚢᚦ",
            "adm\u{131}n",
            "\u{131}\u{15f}\u{131}k",
            "\u{fe}aul",
            "\u{192}inn",
            "g\u{3007}\u{3007}d",
            "\u{261}ina",
            "\u{1d00}nna",
        ] {
            assert!(!new(bad), "{bad}");
            let found = value(IdentityInput::Username(bad.into())).expect("it is still found");
            assert!(is_normal(&Name { kind: Kind::Username, value: found }), "{bad}");
        }
    }

    #[test]
    fn what_is_normal_stays_as_it_is() {
        // The Basic Multilingual Plane, which has nearly all letters that are in use today.
        for c in '\0'..='\u{ffff}' {
            for text in [format!("xy{c}"), format!("x{c}\u{301}\u{30c}y")] {
                let address = format!("{text}@example.org");
                for given in [IdentityInput::Username(text), IdentityInput::Email(address)] {
                    let Some(name) = normal(given) else { continue };
                    assert!(is_normal(&name), "{name:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_and_subjects() {
        let phone = |text: &str| value(IdentityInput::Phone(text.into()));
        assert_eq!(phone("+49 (221) 123-456"), Some("+49221123456".into()));
        assert_eq!(phone("0049 221 123456"), Some("+49221123456".into()));
        for bad in ["0221 123456", "+0123456789", "+49", "+1234567890123456", "+49 221 12x456"] {
            assert_eq!(phone(bad), None, "{bad}");
        }
        let oidc = |issuer: &str, subject: &str| {
            let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
            value(IdentityInput::Oidc(OidcInput { issuer, subject }))
        };
        let id = "https://id.example.org";
        assert_eq!(oidc(id, "A#b"), Some("https://id.example.org#A#b".into()));
        let stored = |kind, value: &str| is_normal(&Name { kind, value: value.into() });
        assert!(stored(Kind::Oidc, "https://id.example.org#A#b"));
        assert!(!stored(Kind::Oidc, "https://id.example.org"));
        assert!(stored(Kind::Phone, "+49221123456") && !stored(Kind::Phone, "0049221123456"));
        assert_eq!(oidc("http://id.example.org", "a"), None);
        assert_eq!(oidc("https://id.example.org?a", "a"), None);
        assert_eq!(oidc(id, "a b"), None);
    }
}
