//! What is imported of a log, by sink; see [`crate::domains::events::import`].

use std::{fmt, io, sync::Arc};

use super::{
    input::{Lines, Log, digest},
    sinks::Sink,
};
use crate::{
    app::App,
    cli::failure::sentence,
    domains::events::import::{ImportDocument, position},
    error::Error,
};

/// A log as it is known: by its first line, and by what the caller says of it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// How the user calls it.
    pub(super) name: Arc<str>,
    /// Digest of the first line, with site and source. The `_id`s of its events begin with it.
    pub(super) head: Arc<str>,
    /// What is imported into each sink.
    pub(super) sinks: Arc<[(Sink, ImportDocument)]>,
    /// What tells this import from others of the same log, if it remembers no position: then it counts anew.
    pub(super) run: Option<Arc<str>>,
}

/// What the user says of all logs of a call.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) site: String,
    pub(super) source: String,
    pub(super) into: Vec<Sink>,
}

/// A failure to find out what is imported.
#[derive(Debug)]
pub(super) enum Unknown {
    Unreadable(io::Error),
    Unavailable(Error),
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(fault) => write!(formatter, "can't be read: {fault}"),
            Self::Unavailable(error) => {
                write!(formatter, "can't be continued: {}", sentence(error))
            }
        }
    }
}

impl From<io::Error> for Unknown {
    fn from(fault: io::Error) -> Self {
        Self::Unreadable(fault)
    }
}

impl From<Error> for Unknown {
    fn from(error: Error) -> Self {
        Self::Unavailable(error)
    }
}

impl Origin {
    /// The digest by which a log with this first line is known.
    fn head(&self, first_line: &[u8]) -> Arc<str> {
        let mut bytes = Vec::new();
        for part in [self.site.as_bytes(), self.source.as_bytes(), first_line.trim_ascii_end()] {
            // The lengths distinguish ("ab", "c") from ("a", "bc").
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        digest(&bytes).into()
    }

    /// A log of which nothing is imported. Those that begin with the same line have different numbers.
    fn nothing_of(&self, app: &App, name: &str, head: Arc<str>, number: u32) -> Known {
        let at = app.clock();
        let position = |sink: &Sink| {
            let id = id(&head, *sink, number);
            let nothing = ImportDocument {
                id,
                done: 0,
                lines: 0,
                tail_at: 0,
                tail_length: 0,
                tail: digest(&[]),
                planned: None,
                at,
                v: crate::mongo::Version,
            };
            (*sink, nothing)
        };
        let sinks = self.into.iter().map(position).collect();
        Known { name: name.into(), head, sinks, run: None }
    }

    /// A log that can be read only once. Nothing is skipped.
    pub(super) fn of_stream(&self, app: &App, first_line: &[u8]) -> Known {
        let run = Some(app.ids().random().into());
        Known { run, ..self.nothing_of(app, "stdin", self.head(first_line), 0) }
    }

    /// What is imported of a log, and its lines from the first that isn't imported into all sinks.
    pub(super) async fn of_log(
        &self,
        app: &App,
        log: &Log,
        first_line: &[u8],
    ) -> Result<(Known, Lines), Unknown> {
        let name = log.path().display().to_string();
        let head = self.head(first_line);
        for number in 0_u32.. {
            let mut known = self.nothing_of(app, &name, Arc::clone(&head), number);
            let mut sinks = known.sinks.to_vec();
            let (mut is_new, mut is_other) = (true, false);
            for (_, of_sink) in &mut sinks {
                if let Some(found) = position(app, &of_sink.id).await? {
                    is_new = false;
                    is_other |= !is_of(log, &found)?;
                    *of_sink = found;
                }
            }
            if is_new || !is_other {
                known.sinks = sinks.into();
                let lines = log.lines_from(offset(known.done()))?;
                let lines = lines.ok_or_else(|| io::Error::other("the file has become shorter"))?;
                return Ok((known, lines));
            }
        }
        Err(io::Error::other("too many logs begin with this line").into())
    }
}

impl Known {
    /// The name under which documents remember the batches of this log that they have counted.
    pub(super) fn counted_as(&self, position: &ImportDocument) -> String {
        match &self.run {
            Some(run) => format!("{}.{run}", position.id),
            None => position.id.clone(),
        }
    }

    /// Offset up to which all sinks have it.
    pub(super) fn done(&self) -> i64 {
        self.sinks.iter().map(|(_, position)| position.done).min().unwrap_or(0)
    }

    /// Number of lines up to there.
    pub(super) fn lines(&self) -> i64 {
        let least = self.sinks.iter().min_by_key(|(_, position)| position.done);
        least.map_or(0, |(_, position)| position.lines)
    }

    /// The next offset at which a batch has to end.
    pub(super) fn next_cut(&self, after: i64) -> Option<i64> {
        let cuts =
            self.sinks.iter().flat_map(|(_, position)| [Some(position.done), position.planned]);
        cuts.flatten().filter(|cut| *cut > after).min()
    }
}

/// The `_id` of a position.
fn id(head: &str, sink: Sink, number: u32) -> String {
    format!("{head}.{}.{number}", sink.name())
}

/// Whether a position is of this log: the line before it is the same.
fn is_of(log: &Log, position: &ImportDocument) -> io::Result<bool> {
    let Some(mut lines) = log.lines_from(offset(position.tail_at))? else { return Ok(false) };
    Ok(lines.has(offset(position.tail_length), &position.tail)?
        && lines.skip_to(offset(position.done))?)
}

fn offset(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
