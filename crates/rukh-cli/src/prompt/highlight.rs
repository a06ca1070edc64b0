//! Colours of the line that is being typed.

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use crate::words::keywords;
use crate::words::lexer::{self, Closed, Kind};

/// Colours SQL and backslash commands.
pub struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        if line.trim_start().starts_with('\\') {
            styled.push((Color::Yellow.normal(), line.to_owned()));
            return styled;
        }
        for token in lexer::tokens(line) {
            let text = &line[token.span];
            styled.push((style(token.kind, text), text.to_owned()));
        }
        styled
    }
}

fn style(kind: Kind, text: &str) -> Style {
    match kind {
        Kind::Word if keywords::is_keyword(text) => Color::Blue.bold(),
        Kind::String(Closed::Yes) => Color::Green.normal(),
        Kind::Quoted(Closed::Yes) => Color::Cyan.normal(),
        Kind::String(Closed::No) | Kind::Quoted(Closed::No) => Color::Red.normal(),
        Kind::Number => Color::Purple.normal(),
        Kind::Comment(_) => Color::DarkGray.italic(),
        Kind::Word | Kind::Symbol | Kind::Space => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours() {
        let text = "select a, 'b', 1.5 from \"C\" -- d\nwhere e = 'open";
        let styled = SqlHighlighter.highlight(text, 0).buffer;
        assert_eq!(
            styled.iter().map(|(_, piece)| piece.as_str()).collect::<String>(),
            text
        );
        let coloured = styled.iter().filter(|(style, _)| *style != Style::new());
        let shown: Vec<_> = coloured
            .map(|(style, piece)| (style.foreground, piece.as_str()))
            .collect();
        let expected = [
            (Some(Color::Blue), "select"),
            (Some(Color::Green), "'b'"),
            (Some(Color::Purple), "1.5"),
            (Some(Color::Blue), "from"),
            (Some(Color::Cyan), "\"C\""),
            (Some(Color::DarkGray), "-- d"),
            (Some(Color::Blue), "where"),
            (Some(Color::Red), "'open"),
        ];
        assert_eq!(shown, expected);
    }
}
