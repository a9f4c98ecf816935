//! Markdown as HTML that is safe to show.

use pulldown_cmark::{Options, Parser};

use crate::error::Error;

/// Texts up to this many bytes are rendered at once; longer ones beside the work of others.
const SHORT: usize = 4_096;

/// Renders a text: [CommonMark](https://spec.commonmark.org/) with tables and strikethrough of
/// [GitHub's](https://github.github.com/gfm/). What a browser would execute, load as a frame or send
/// somewhere is taken out.
///
/// # Errors
/// `Internal`.
pub(super) async fn html(text: &str) -> Result<String, Error> {
    if text.len() <= SHORT {
        return Ok(rendered(text));
    }
    let text = text.to_owned();
    tokio::task::spawn_blocking(move || rendered(&text)).await.map_err(Error::internal)
}

fn rendered(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut html = String::with_capacity(text.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, parser);
    ammonia::clean(&html)
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
