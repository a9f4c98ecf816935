//! Ends a mongod whose owner has ended in whatever way.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// Each line is the pid to guard from then on, an empty one means none. At the end of the input,
/// which comes when we end in whatever way, it ends that process and then removes the folder, if
/// it was given one. It ignores signals because only that end tells that we are gone. Its standard
/// output is the locked file, which is thereby free once mongod has ended, and not before.
const WATCH: &str = r#"
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ] && kill -TERM "$pid"; then
    tries=200
    while [ "$tries" -gt 0 ] && kill -0 "$pid"; do
        sleep 0.05
        tries=$((tries - 1))
    done
    kill -KILL "$pid"
fi
if [ -n "$1" ]; then rm -rf -- "$1"; fi
"#;

/// A shell that outlives us just long enough to end mongod and to tidy up.
#[derive(Debug)]
pub(super) struct Watchdog {
    /// `None` once it was waited for.
    pub(super) shell: Option<Child>,
    /// Only we hold this end of the pipe: the standard library opens it close-on-exec.
    pub(super) lifeline: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts the shell, which holds the lock and removes the folder at the end, if one is given.
    pub(super) fn start(remove: Option<&Path>, lock: File) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", WATCH, "docgate-watchdog"]).arg(remove.unwrap_or(Path::new("")));
        // An inherited output would keep a pipe that a test runner reads open.
        command.stdin(Stdio::piped()).stdout(lock).stderr(Stdio::null());
        let mut shell = spawn_apart(&mut command)?;
        let lifeline = shell.stdin.take();
        Ok(Self { shell: Some(shell), lifeline })
    }

    /// Guards this process instead of the last one.
    pub(super) fn guard(&mut self, pid: Option<u32>) -> io::Result<()> {
        let line = pid.map_or_else(|| "\n".to_owned(), |pid| format!("{pid}\n"));
        self.lifeline.as_mut().map_or(Ok(()), |pipe| pipe.write_all(line.as_bytes()))
    }
}

/// In a process group of its own, so that Ctrl-C at the terminal reaches only us.
pub(super) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}
