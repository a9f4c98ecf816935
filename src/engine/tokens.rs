//! The tokens of a GraphQL document, for limits that are checked before it is parsed.

/// A token of a document: a name, a number, a string or a punctuator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// The first byte.
    pub(super) first: u8,
    /// Length in bytes.
    pub(super) length: usize,
}

impl Token {
    /// Whether it is a string, of one line or of several.
    pub(super) fn is_string(self) -> bool {
        self.first == b'"'
    }
}

/// The tokens of a text, by the specification's lexical grammar.
pub(super) fn tokens(text: &[u8]) -> impl Iterator<Item = Token> {
    let mut at = 0;
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let first = *rest.first()?;
            let begin = at;
            match first {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => {
                    at += 1;
                    continue;
                }
                b'#' => {
                    at += rest.iter().take_while(|byte| !matches!(byte, b'\r' | b'\n')).count();
                    continue;
                }
                b'"' if rest.starts_with(BLOCK) => at += block(rest),
                b'"' => {
                    at += 1;
                    while let Some(byte) = text.get(at) {
                        at += if *byte == b'\\' { 2 } else { 1 };
                        if matches!(byte, b'"' | b'\n' | b'\r') {
                            break;
                        }
                    }
                }
                _ if word(&first) => at += rest.iter().take_while(|byte| word(byte)).count(),
                _ => at += if rest.starts_with(b"...") { 3 } else { 1 },
            }
            return Some(Token { first, length: at - begin });
        }
    })
}

/// The delimiter of block strings.
const BLOCK: &[u8] = b"\"\"\"";

/// The length of the block string at the beginning of `text`.
fn block(text: &[u8]) -> usize {
    let mut at = BLOCK.len();
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(BLOCK) {
            return at + BLOCK.len();
        }
        at += if rest.starts_with(b"\\\"\"\"") { 1 + BLOCK.len() } else { 1 };
    }
    at
}
