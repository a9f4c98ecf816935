use super::*;

const COMBINED: &str = "203.0.113.9 - ann [10/Oct/2024:13:55:36 -0700] \"GET /a/b?c=d%20e HTTP/1.1\" 200 2326 \
                        \"https://example.org/x\" \"Mozilla/5.0 (X11)\"";

fn parsed(line: &str) -> Line<'_> {
    Line::parse(line.as_bytes()).unwrap_or_else(|fault| panic!("{line}: {fault}"))
}

fn fault(line: &str) -> String {
    Line::parse(line.as_bytes()).err().map_or_else(|| "it fits".into(), |fault| fault.to_string())
}

#[test]
fn combined_and_common_lines_are_events() {
    let line = parsed(COMBINED);
    let event = line.event("shop.example");
    assert_eq!((event.method, event.path, event.query), (Some("GET"), "/a/b", Some("c=d%20e")));
    assert_eq!((event.host, event.user, event.site), ("203.0.113.9", Some("ann"), "shop.example"));
    assert_eq!((event.status, event.bytes), (Some(200), Some(2_326)));
    assert_eq!(event.referrer, Some("https://example.org/x"));
    assert_eq!(event.user_agent, Some("Mozilla/5.0 (X11)"));
    assert_eq!(event.at, 1_728_593_736_000);
    let common = COMBINED.split(" \"https").next().expect("the beginning");
    let line = parsed(common);
    assert_eq!((line.at, line.referrer, line.user_agent), (event.at, None, None));
    // Further fields are ignored.
    for more in [" 0.005", " \"-\" \"-\" \"10.0.0.1\" rt=0.1"] {
        assert_eq!(parsed(&format!("{common}{more}")).bytes, Some(2_326), "{more}");
    }
}

#[test]
fn missing_fields_are_none() {
    let line = parsed("2001:db8::7:1 - - [29/Feb/2024:23:59:60 +0530] \"-\" 408 - \"-\" \"\"");
    assert_eq!(line.event("s").host, "2001:db8::7:1");
    assert_eq!((line.user.as_deref(), line.status, line.bytes), (None, Some(408), None));
    assert_eq!((line.referrer.as_deref(), line.user_agent.as_deref()), (None, None));
    assert_eq!((line.event("s").method, line.event("s").path), (None, "-"));
    assert_eq!(line.at, 1_709_231_399_000);
    assert_eq!(
        parsed("h - a b [01/Jan/1970:00:00:00 +0000] \"x\" - 1").user.as_deref(),
        Some("a b")
    );
}

#[test]
fn escapes_are_resolved_where_that_is_text() {
    for (written, read) in [
        (r#"a \"quoted\" b"#, r#"a "quoted" b"#),
        (r"C:\\x", r"C:\x"),
        (r"caf\xC3\xA9 \x22q\x22", "café \"q\""),
        (r"\x16\x03\x01", r"\x16\x03\x01"),
        (r"\xff", r"\xff"),
        (r"\q \x4", r"\q \x4"),
        (r"tab\t", r"tab\t"),
    ] {
        let line = format!(
            "h - - [01/Jan/1970:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"{written}\""
        );
        assert_eq!(parsed(&line).user_agent.as_deref(), Some(read), "{written}");
    }
    assert_eq!(decoded(b"a\xffb"), "a\u{fffd}b");
    assert_eq!(decoded(b"a\tb\x00"), "a\u{fffd}b\u{fffd}");
}

#[test]
fn requests_are_split_or_kept() {
    for (request, method, path, query) in [
        ("GET / HTTP/1.1", Some("GET"), "/", None),
        ("GET /", Some("GET"), "/", None),
        ("GET /a b?c HTTP/1.0", Some("GET"), "/a b", Some("c")),
        ("GET /a? HTTP/1.0", Some("GET"), "/a", None),
        ("GET ?a HTTP/1.0", Some("GET"), "?a", None),
        ("OPTIONS * HTTP/1.1", Some("OPTIONS"), "*", None),
        ("CONNECT a.example:443 HTTP/1.1", Some("CONNECT"), "a.example:443", None),
        (r"\x16\x03 \x01", None, r"\x16\x03 \x01", None),
        ("nothing", None, "nothing", None),
        ("-", None, "-", None),
        ("", None, "-", None),
    ] {
        let line = format!("h - - [01/Jan/1970:00:00:00 +0000] \"{request}\" 400 1");
        let line = parsed(&line);
        let event = line.event("s");
        assert_eq!((event.method, event.path, event.query), (method, path, query), "{request}");
    }
}

#[test]
fn faults_name_the_field() {
    for (line, told) in [
        ("", "host: is missing"),
        ("h", "host: nothing follows it: a line is host ident user [time]"),
        ("h - -", "time: has no ["),
        // A virtual host before the host, and the addresses of two proxies after it.
        (
            "a.example:443 h - - [10/Oct/2024:00:00:00 +0000] \"GET /\" 200 1",
            "user: is more than one field",
        ),
        (
            "a.example:443 h - ann [10/Oct/2024:00:00:00 +0000] \"GET /\" 200 1",
            "user: is more than one field",
        ),
        (
            "h, p, q - - [10/Oct/2024:00:00:00 +0000] \"GET /\" 200 1",
            "user: is more than one field",
        ),
        ("h - - [now] \"GET /\" 200 1", "time: isn't a time such as"),
        ("h - - [31/Feb/2024:00:00:00 +0000] \"GET /\" 200 1", "time: isn't a time such as"),
        ("h - - [10/Oct/2024:24:00:00 +0000] \"GET /\" 200 1", "time: isn't a time such as"),
        ("h - - [10/Oct/2024:00:00:00 +0000] GET / 200 1", "request: must be in quotation marks"),
        ("h - - [10/Oct/2024:00:00:00 +0000] \"GET /", "request: has no quotation mark"),
        ("h - - [10/Oct/2024:00:00:00 +0000] \"GET / \\\" 1 2", "request: has no quotation mark"),
        ("h - - [10/Oct/2024:00:00:00 +0000] \"GET /\" OK 1", "status: isn't a number"),
        ("h - - [10/Oct/2024:00:00:00 +0000] \"GET /\" 200", "bytes: is missing"),
        ("h - - [10/Oct/2024:00:00:00 +0000] \"GET /\" 200 1x", "bytes: isn't a number"),
        (
            "h - - [10/Oct/2024:00:00:00 +0000] \"GET /\" 200 1 \"-\" \"",
            "userAgent: has no quotation",
        ),
        ("{\"host\": \"json\"}", "ident: nothing follows it"),
    ] {
        let fault = fault(line);
        assert!(fault.starts_with(told), "{line}: {fault}");
    }
}
