//! The lines that are imported together.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::DateTime;
use sha2::{Digest as _, Sha256};

use super::{
    super::faults::Fault,
    input::{Found, MAX_LENGTH, digest},
    line::Line,
    position::Known,
    sinks::Sink,
};
use crate::{
    app::App,
    domains::{
        events::import::{Prepared, Times, fault},
        times::{MINUTE, SECOND},
    },
    graphql::input::page,
};

/// A batch ends after the line that reaches a multiple of this many bytes, so that every import of a log has the same
/// batches.
const BYTES: i64 = 1 << 20;
/// Maximum length of the text of a skipped line in a report, in bytes.
const SHOWN: usize = 2_000;

/// A line that was skipped.
pub(super) struct Skipped {
    pub(super) number: i64,
    pub(super) fault: Fault,
    pub(super) text: String,
}

/// The lines that are imported together.
pub(super) struct Batch {
    pub(super) log: Known,
    /// Offset of its first line.
    pub(super) begin: i64,
    /// Offset after its last line.
    pub(super) end: i64,
    /// Number of its last line.
    pub(super) lines: i64,
    /// Offset, length and digest of its last line.
    pub(super) tail: (i64, i64, String),
    /// Number of imported lines.
    pub(super) imported: u64,
    pub(super) events: Vec<Prepared>,
    /// Hits by page and minute.
    pub(super) hits: HashMap<(Box<str>, i64), i64>,
    /// Views by page and second.
    pub(super) views: HashMap<(Box<str>, i64), i64>,
    /// Number of imported lines whose page can't be counted.
    pub(super) uncounted: u64,
    pub(super) skipped: Vec<Skipped>,
}

impl Batch {
    fn new(log: Known, begin: i64) -> Self {
        Self {
            log,
            begin,
            end: begin,
            lines: 0,
            tail: (begin, 0, String::new()),
            imported: 0,
            events: Vec::new(),
            hits: HashMap::new(),
            views: HashMap::new(),
            uncounted: 0,
            skipped: Vec::new(),
        }
    }

    /// Whether a sink hasn't got it yet.
    pub(super) fn is_for(&self, sink: Sink) -> bool {
        let mut of = self.log.sinks.iter();
        of.any(|(one, position)| *one == sink && position.done <= self.begin)
    }
}

/// Makes batches of the lines of one log.
pub(super) struct Batcher {
    app: App,
    site: String,
    log: Known,
    times: Times,
    arrived: DateTime,
    has_events: bool,
    has_hits: bool,
    has_views: bool,
    batch: Option<Batch>,
    /// Offset and number of the next line.
    at: i64,
    lines: i64,
}

impl Batcher {
    pub(super) fn new(app: &App, site: &str, log: Known) -> Self {
        let has = |sink| log.sinks.iter().any(|(one, _)| *one == sink);
        Self {
            app: app.clone(),
            site: site.to_owned(),
            times: Times::now(app),
            arrived: app.clock(),
            has_events: has(Sink::Events),
            has_hits: has(Sink::Reports),
            has_views: has(Sink::Series),
            batch: None,
            at: log.done(),
            lines: log.lines(),
            log,
        }
    }

    /// Adds a line with its terminator, which ends at this offset. Returns the batch that it completes.
    pub(super) fn add(&mut self, found: Found, line: &[u8], end: u64) -> Option<Batch> {
        let end = i64::try_from(end).unwrap_or(i64::MAX);
        let begin = std::mem::replace(&mut self.at, end);
        self.lines += 1;
        if self.batch.is_none() {
            (self.times, self.arrived) = (Times::now(&self.app), self.app.clock());
        }
        let mut batch = self.batch.take().unwrap_or_else(|| Batch::new(self.log.clone(), begin));
        self.import(&mut batch, begin, found, line);
        (batch.end, batch.lines) = (end, self.lines);
        batch.tail = (begin, end - begin, String::new());
        self.batch = Some(batch);
        let is_regular = begin / BYTES != end / BYTES;
        let is_cut = self.log.next_cut(begin).is_some_and(|cut| cut <= end);
        if is_regular || is_cut { self.finish(found, line) } else { None }
    }

    /// The batch that has been begun. It ends after this line, the last that was added.
    pub(super) fn finish(&mut self, found: Found, line: &[u8]) -> Option<Batch> {
        let mut batch = self.batch.take()?;
        if found.is_too_long {
            // Only its beginning is known, so the log isn't recognised by it.
            (batch.tail.0, batch.tail.1) = (batch.end, 0);
        }
        batch.tail.2 = digest(if found.is_too_long { &[] } else { line });
        Some(batch)
    }

    /// Imports a line into a batch.
    fn import(&self, batch: &mut Batch, begin: i64, found: Found, line: &[u8]) {
        let text = line.trim_ascii_end();
        let mut skip = |fault| {
            let text = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned();
            batch.skipped.push(Skipped { number: self.lines, fault, text });
        };
        if found.is_too_long {
            return skip(Fault::of_line(format!("is longer than {MAX_LENGTH} bytes")));
        }
        if text.is_empty() {
            return;
        }
        let parsed = match Line::parse(text) {
            Ok(parsed) => parsed,
            Err(fault) => return skip(fault),
        };
        let event = parsed.event(&self.site);
        if let Some((field, reason)) = fault(&event, &self.times) {
            return skip(Fault::of_field(field, reason));
        }
        batch.imported += 1;
        if self.has_events {
            let id = id(&self.log.head, begin, text);
            batch.events.push(Prepared::new(&event, &id, self.arrived));
        }
        let has_page = event.method.is_some() && page("page", event.path).is_ok();
        if (self.has_hits || self.has_views) && !has_page {
            batch.uncounted += 1;
            return;
        }
        let start_of = |length: i64| (event.path.into(), event.at - event.at.rem_euclid(length));
        if self.has_hits {
            *batch.hits.entry(start_of(MINUTE)).or_default() += 1;
        }
        if self.has_views {
            *batch.views.entry(start_of(SECOND)).or_default() += 1;
        }
    }
}

/// The `_id` of the event of a line: it follows from the log, the offset and the line itself. So lines of different logs
/// that begin alike have different ids.
fn id(head: &str, begin: i64, line: &[u8]) -> String {
    let digest = Sha256::digest(line);
    let digest = BASE64.encode(&digest[..6]);
    format!("{}{begin:010x}{digest}", &head[..8])
}
