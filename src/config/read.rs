//! Sources of the configuration: a file, the environment and flags. They are merged by key, and each key is
//! validated separately, so that one fault doesn't hide another.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::{Config, Faults, tables};

/// Environment variables with the prefix `DOCGATE_` that aren't configuration keys. `docgate work` sets those of a job.
const NOT_KEYS: &[&str] =
    &["mongod", "cache", "config", "log", "data", "job_id", "job_queue", "job_attempt"];

/// Whether a variable is one that Kubernetes sets for a service whose name is `docgate` or begins with `docgate-`, such as
/// `DOCGATE_SERVICE_HOST`, `DOCGATE_ADMIN_SERVICE_PORT_HTTP` and `DOCGATE_PORT_8080_TCP`.
fn is_service_link(key: &str, text: &OsStr) -> bool {
    // In front is the rest of the service's name.
    let key = format!("_{key}");
    let is_url = || {
        let text = text.to_str().unwrap_or_default();
        ["tcp://", "udp://", "sctp://"].iter().any(|scheme| text.starts_with(scheme))
    };
    let is_of_port = key.split_once("_port_").is_some_and(|(_, port)| {
        port.starts_with(|first: char| first.is_ascii_digit()) && port.contains('_')
    });
    key.ends_with("_service_host")
        || key.ends_with("_service_port")
        || key.contains("_service_port_")
        || is_of_port
        // Without a URL, somebody takes it for a setting.
        || key.ends_with("_port") && is_url()
}

/// The source of a key.
#[derive(Debug, Clone)]
enum Source {
    File(PathBuf),
    Environment,
    Flags,
}

impl Source {
    /// Where this source has a key.
    fn of(&self, key: &str) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Environment => {
                format!("the environment: DOCGATE_{}", key.to_ascii_uppercase())
            }
            Self::Flags => "the flags".to_owned(),
        }
    }
}

/// Where keys were set.
#[derive(Debug, Default)]
pub(super) struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// Where a key was set, if it was.
    pub(super) fn place(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|source| source.of(key))
    }

    /// The fault with the places where the keys were set that it names: its first word, and other words that can only be
    /// keys. A key with its default has no place.
    pub(super) fn told(&self, fault: &str) -> String {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = fault.split(|letter| !is_part(letter)).enumerate();
        let names = words.filter(|(at, word)| *at == 0 || word.contains('_'));
        let mut found: Vec<(&str, &Source)> = Vec::new();
        for (_, name) in names {
            let set = self.0.get(name).filter(|_| found.iter().all(|(known, _)| *known != name));
            found.extend(set.map(|source| (name, source)));
        }
        let places = match found.as_slice() {
            [] => return fault.to_owned(),
            [(name, source)] => format!("in {}", source.of(name)),
            several => {
                let each =
                    several.iter().map(|(name, source)| format!("{name} in {}", source.of(name)));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        format!("{fault} ({places})")
    }
}

/// The given keys. A later source replaces the value of an earlier one.
type Given = BTreeMap<String, (Value, Source)>;

/// Reads all sources, and returns the configuration, the faults, and where its keys were set. An invalid key is reported as a fault and keeps its default.
pub(super) fn read(
    file: Option<&Path>,
    flags: impl Serialize,
) -> Result<(Config, Vec<String>, Sources), Faults> {
    let alone = |fault: String| Faults(vec![fault]);
    let Value::Object(defaults) = json(Config::default()).map_err(alone)? else {
        return Err(alone("the configuration has no keys".to_owned()));
    };
    let mut given = Given::new();
    if let Some(file) = file {
        given.extend(in_file(file).map_err(alone)?);
    }
    given.extend(in_environment(&defaults));
    if let Value::Object(flags) = json(flags).map_err(alone)? {
        given.extend(from(flags, &Source::Flags));
    }
    let mut faults = Vec::new();
    let (mut good, mut sources) = (Map::new(), Sources::default());
    for (key, (value, source)) in given {
        let (found, at) = (faults_of(&defaults, &key, &value), source.of(&key));
        sources.0.insert(key.clone(), source);
        if found.is_empty() {
            good.insert(key, value);
        }
        faults.extend(found.into_iter().map(|fault| format!("{fault} (in {at})")));
    }
    let config = serde_json::from_value(Value::Object(good));
    Ok((config.map_err(|fault| alone(fault.to_string()))?, faults, sources))
}

fn json(value: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|fault| fault.to_string())
}

fn from(
    values: Map<String, Value>,
    source: &Source,
) -> impl Iterator<Item = (String, (Value, Source))> {
    values.into_iter().map(move |(key, value)| (key, (value, source.clone())))
}

fn in_file(file: &Path) -> Result<Given, String> {
    let unreadable = |reason: &str| format!("the file {} can't be read: {reason}", file.display());
    let text = fs::read_to_string(file).map_err(|fault| unreadable(&unread(&fault)))?;
    let values = toml::from_str(&text).map_err(|fault: toml::de::Error| {
        let before = fault.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        // The line's content isn't repeated, because it may hold a secret.
        unreadable(&format!("line {line} isn't TOML: {}", fault.message().replace('\n', ", ")))
    })?;
    Ok(from(values, &Source::File(file.to_owned())).collect())
}

/// Keys from environment variables with the prefix `DOCGATE_`.
fn in_environment(defaults: &Map<String, Value>) -> Given {
    let mut given = Given::new();
    for (name, text) in env::vars_os() {
        let Some(key) = name.to_str().and_then(|name| name.strip_prefix("DOCGATE_")) else {
            continue;
        };
        let key = key.to_ascii_lowercase();
        if NOT_KEYS.contains(&key.as_str()) || is_service_link(&key, &text) {
            continue;
        }
        // A value that isn't UTF-8 becomes one that no key accepts. Null would do for keys that may be missing.
        let value = match text.into_string() {
            Ok(text) => value(defaults.get(&key), text),
            Err(_) => Value::Array(vec![Value::Null]),
        };
        given.insert(key, (value, Source::Environment));
    }
    given
}

/// Parses the text of a variable by the type of the key's default. For text keys the text is kept as it is,
/// so that a secret of digits isn't read as a number.
fn value(default: Option<&Value>, text: String) -> Value {
    let parsed = match default {
        Some(Value::Bool(_)) => text.trim().parse().ok().map(Value::Bool),
        Some(Value::Number(_)) => {
            serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number)
        }
        Some(Value::Array(of)) if of.iter().any(Value::is_number) => numbers(&text),
        Some(Value::Array(_)) => Some(list(&text)),
        Some(Value::Object(_)) => serde_json::from_str(&text).ok(),
        _ => None,
    };
    parsed.unwrap_or(Value::String(text))
}

/// Parses comma-separated values, with optional brackets around the list and optional quotes around each
/// value.
fn list(text: &str) -> Value {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let values = bare.split(',').map(|value| value.trim().trim_matches(['"', '\'']));
    values.filter(|value| !value.is_empty()).collect()
}

/// Parses comma-separated whole numbers.
fn numbers(text: &str) -> Option<Value> {
    let Value::Array(values) = list(text) else { return None };
    let number = |value: Value| value.as_str()?.parse::<u64>().ok().map(Value::from);
    values.into_iter().map(number).collect::<Option<_>>().map(Value::Array)
}

/// The faults of a key's value. The value isn't repeated, because it may be a secret, except in tables of prices and rates.
fn faults_of(defaults: &Map<String, Value>, key: &str, value: &Value) -> Vec<String> {
    let Some(default) = defaults.get(key) else {
        return vec![format!("{key} is no configuration key")];
    };
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    let Err(unfit) = serde_json::from_value::<Config>(alone) else { return Vec::new() };
    let found = tables::faults(key, value);
    if !found.is_empty() {
        return found;
    }
    let unfit = unfit.to_string();
    let expected = expected_of(key).unwrap_or_else(|| expected(default, &unfit));
    vec![format!("{key}: {expected} is expected")]
}

/// What is expected of keys that take less than their type.
fn expected_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "core_write_concern" => "`majority`",
        "metadata_pairs" => "a whole number between 1 and 1000",
        "max_depth" => "a whole number between 1 and 60",
        "client_share_percent" => "a whole number between 1 and 100",
        "eventual_staleness_seconds" => "a whole number between 90 and 86400",
        _ => return None,
    })
}

/// The expected type of a key in plain words.
fn expected<'a>(default: &Value, unfit: &'a str) -> &'a str {
    let words = unfit.rsplit_once("expected ").map_or("", |(_, words)| words);
    match default {
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) if words == "u32" => "a whole number between 0 and 4294967295",
        Value::Number(_) => "a whole number, 0 or more,",
        Value::Array(of) if of.iter().any(Value::is_number) => "a list of whole numbers",
        Value::Array(_) => "a list of texts",
        Value::Object(_) => "a table of lists of texts",
        _ if unfit.contains("socket address") => "an address and port such as 127.0.0.1:8080",
        _ if unfit.starts_with("unknown variant") => words,
        _ => "a text",
    }
}

/// The reason why a file can't be read, in plain words.
pub fn unread(fault: &io::Error) -> String {
    match fault.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it isn't text in UTF-8".to_owned(),
        _ => fault.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_with_the_places_of_their_keys() {
        let file = || Source::File("a.toml".into());
        let set = [("max_depth", Source::Environment), ("quote_url", file()), ("listen", file())];
        let sources = Sources(set.map(|(key, source)| (key.to_owned(), source)).into());
        for (fault, told) in [
            ("max_depth must be", "max_depth must be (in the environment: DOCGATE_MAX_DEPTH)"),
            ("max_cost must be", "max_cost must be"),
            ("listen is", "listen is (in a.toml)"),
            ("we listen", "we listen"),
            (
                "quote_url and max_depth",
                "quote_url and max_depth (quote_url in a.toml, max_depth in the environment: DOCGATE_MAX_DEPTH)",
            ),
        ] {
            assert_eq!(sources.told(fault), told);
        }
    }

    #[test]
    fn variables_of_services_are_no_settings() {
        for (key, text, is_link) in [
            ("service_host", "10.0.0.1", true),
            ("service_port", "80", true),
            ("service_port_http", "80", true),
            ("port", "tcp://10.0.0.1:80", true),
            ("port_80_tcp", "tcp://10.0.0.1:80", true),
            ("port_80_tcp_addr", "10.0.0.1", true),
            ("mongodb_service_host", "10.0.0.2", true),
            ("admin_service_port_metrics", "9090", true),
            ("admin_port", "tcp://10.0.0.2:9090", true),
            ("admin_port_9090_tcp_proto", "tcp", true),
            ("port", "9000", false),
            ("listen_port", "9000", false),
            ("service_name", "shop", false),
            ("mongodb_uri", "mongodb://localhost/", false),
        ] {
            assert_eq!(is_service_link(key, OsStr::new(text)), is_link, "{key}={text}");
        }
        let defaults = json(Config::default()).expect("JSON");
        let keys = defaults.as_object().expect("a table").keys();
        let taken = keys.filter(|key| is_service_link(key, OsStr::new("tcp://a:1")));
        assert_eq!(taken.count(), 0, "no key looks so");
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let both = serde_json::json!(["https://a.example", "https://b.example:81"]);
        for text in [
            "https://a.example,https://b.example:81",
            " [https://a.example, https://b.example:81] ",
            "[\"https://a.example\", 'https://b.example:81']",
        ] {
            assert_eq!(list(text), both, "{text}");
        }
        assert_eq!(list(""), serde_json::json!([]));
        assert_eq!(list("*"), serde_json::json!(["*"]));
    }
}
