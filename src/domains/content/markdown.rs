//! Renders Markdown as safe HTML.

use pulldown_cmark::{Event, Options, Parser};

use crate::error::{Error, Result};

/// Texts up to this many bytes are rendered at once; longer ones on a blocking thread.
const SHORT: usize = 4_096;

/// Renders a text: [CommonMark](https://spec.commonmark.org/) with tables and strikethrough of
/// [GitHub's](https://github.github.com/gfm/). Everything that a browser would execute, load as a frame or
/// submit is removed. A text with a [`fault`] is shown as source.
///
/// # Errors
/// `Internal` if rendering panics.
pub(super) async fn html(text: &str) -> Result<String> {
    if text.len() <= SHORT {
        return Ok(rendered(text));
    }
    let text = text.to_owned();
    tokio::task::spawn_blocking(move || rendered(&text)).await.map_err(Error::internal)
}

/// Maximum depth of elements: an HTML parser examines all open elements at each start tag.
const DEPTH: usize = 100;
/// Maximum product of the number of elements and of those that raw HTML begins: an element of raw HTML may
/// stay open, or be opened again, in all that follow.
const OPEN_AT_ONCE: usize = 100_000;
/// Maximum number of ampersands: an HTML parser examines the whole paragraph at each of them.
const AMPERSANDS: usize = 5_000;
/// Elements without an end tag.
const WITHOUT_END: [&str; 4] = ["br", "hr", "img", "wbr"];

/// The reason why rendering a text would take too long, as words that follow its name.
pub(super) fn fault(text: &str) -> Option<&'static str> {
    events(text).err()
}

fn rendered(text: &str) -> String {
    let Ok(events) = events(text) else {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        return format!("<pre>{text}</pre>\n");
    };
    let mut html = String::with_capacity(text.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, events.into_iter());
    ammonia::clean(&html)
}

/// The parsed events of a text.
fn events(text: &str) -> Result<Vec<Event<'_>>, &'static str> {
    if text.matches('&').nth(AMPERSANDS).is_some() {
        return Err("has too many ampersands");
    }
    let mut events = Vec::new();
    let (mut depth, mut elements, mut own) = (0_usize, 0_usize, 0_usize);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match &event {
            Event::Start(_) => {
                depth += 1;
                elements += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Html(html) | Event::InlineHtml(html) => {
                for name in html.split('<').skip(1).filter_map(started) {
                    elements += 1;
                    own += usize::from(!WITHOUT_END.contains(&name));
                }
            }
            _ => {}
        }
        if depth > DEPTH {
            return Err("has quotes or lists too deep inside one another");
        }
        if own.saturating_mul(elements) > OPEN_AT_ONCE {
            return Err("has too much HTML");
        }
        events.push(event);
    }
    Ok(events)
}

/// The name of the element whose start tag begins here, after its `<`.
fn started(html: &str) -> Option<&str> {
    let end = html.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(html.len());
    html[..end].starts_with(|c: char| c.is_ascii_alphabetic()).then(|| &html[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(rendered("# A *title*"), "<h1>A <em>title</em></h1>\n");
        assert!(rendered("|a|\n|-|\n|b|").contains("<td>b</td>"));
        let link = rendered("[docgate](https://example.org/?a=1&b=2)");
        assert!(link.contains(r#"href="https://example.org/?a=1&amp;b=2""#), "{link}");
        assert!(link.contains("noopener"), "{link}");
    }

    #[test]
    fn what_would_take_long_is_shown_as_it_is() {
        let deep = "> ".repeat(DEPTH + 1) + "a";
        assert!(rendered(&deep).starts_with("<pre>&gt; &gt;"), "{deep}");
        assert!(rendered(&("> ".repeat(DEPTH - 1) + "a")).starts_with("<blockquote>"));
        for (text, times) in [
            ("&", 100_000),
            (">", 100_000),
            ("+ ", 50_000),
            ("1. ", 33_000),
            ("<div>", 20_000),
            ("<b id=1>a\n\n", 9_000),
            ("<div></x>\n", 10_000),
            ("a <i title='</i>'>\n\n", 5_000),
        ] {
            let text = text.repeat(times);
            assert!(fault(&text).is_some(), "{}", &text[..20]);
            assert!(rendered(&text).starts_with("<pre>"), "{}", &text[..20]);
        }
    }

    #[test]
    fn long_texts_are_rendered() {
        for (text, times) in [
            ("A *word* and a [link](https://example.org).<br>\n\n", 2_000),
            ("*a **b ", 14_000),
            ("[", 100_000),
            ("![](a)", 16_000),
            ("`a` ~~b~~ ", 10_000),
            ("# a\n", 25_000),
            ("|a|b|\n|-|-|\n|c|d|\n\n", 4_000),
        ] {
            let text = text.repeat(times);
            assert_eq!(fault(&text), None);
            assert!(!rendered(&text).starts_with("<pre>"));
        }
        let most = "&".repeat(AMPERSANDS);
        assert_eq!(rendered(&most), format!("<p>{}</p>\n", "&amp;".repeat(AMPERSANDS)));
        let some = "A <kbd>key</kbd> and a paragraph.\n\n".repeat(100);
        assert_eq!(fault(&some), None, "HTML of its own");
    }

    #[test]
    fn nothing_in_it_does_anything() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt&#58;alert(1))",
            "<a href=\"&#x6a;avascript:alert(1)\">a</a>",
            "![a](javascript:alert(1))",
            "<iframe src=https://example.org></iframe>",
            "<form action=https://example.org><input name=a></form>",
            "<style>*{background:url(javascript:alert(1))}</style>",
            "<p style=\"position:fixed\">a</p>",
            "<svg><script>alert(1)</script></svg>",
            "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
            "<scr<script>ipt>alert(1)</script>",
        ] {
            let html = rendered(text).to_lowercase();
            for bad in [
                "<script",
                " onerror",
                "href=\"javascript",
                "src=\"javascript",
                "<iframe",
                "<form",
                "<input",
                "<style",
                "style=",
                "<svg",
            ] {
                assert!(!html.contains(bad), "{text}: {html}");
            }
        }
    }
}
