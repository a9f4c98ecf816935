//! The texts of `--help`.

use clap::Command;

/// The command with texts whose paragraphs fill the width of the terminal. In the source their lines end elsewhere. What is
/// indented stays as it is: examples.
pub(super) fn flowing(command: Command) -> Command {
    let text = command.get_long_about().map(|text| paragraphs(&text.to_string()));
    let command = match text {
        Some(text) => command.long_about(text),
        None => command,
    };
    command.mut_subcommands(flowing)
}

/// The text with one line per paragraph.
fn paragraphs(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut flowing = String::with_capacity(text.len());
    let mut last = "";
    for (number, line) in text.lines().enumerate() {
        let goes_on = is_prose(last) && is_prose(line);
        if number > 0 {
            flowing.push(if goes_on { ' ' } else { '\n' });
        }
        flowing.push_str(line);
        last = line;
    }
    flowing
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_paragraph_is_a_line_and_examples_stay() {
        let text =
            "Do it\n\nFirst this,\nthen that.\n\nExamples:\n    one\n    two\n\nExit codes: 0,\n1";
        let flowing =
            "Do it\n\nFirst this, then that.\n\nExamples:\n    one\n    two\n\nExit codes: 0, 1";
        assert_eq!(paragraphs(text), flowing);
    }

    /// Calls `each` with the long help of every command, and its path.
    fn each(command: &mut Command, path: &str, told: &mut impl FnMut(&str, &str)) {
        told(path, &command.render_long_help().to_string());
        let names: Vec<String> =
            command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
        for name in names {
            let below = command.find_subcommand_mut(&name).expect("a command");
            each(below, &format!("{path} {name}"), told);
        }
    }

    #[test]
    fn lines_of_help_fill_the_width() {
        const WIDTH: usize = 100;
        let mut command = flowing(Cli::command().term_width(WIDTH));
        command.build();
        each(&mut command, "docgate", &mut |path, help| {
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let length = pair[0].chars().count();
                assert!(length <= WIDTH, "{path}: {}", pair[0]);
                let is_prose = |line: &str| line.starts_with(|first: char| first.is_alphabetic());
                let next = pair[1].split(' ').next().unwrap_or_default().chars().count();
                if is_prose(pair[0]) && is_prose(pair[1]) {
                    assert!(length + 1 + next > WIDTH, "{path}: {pair:?}");
                }
            }
        });
    }
}
