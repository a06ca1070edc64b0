//! The prompt: reads statements with history, completion and colours, and runs them.
//!
//! On a terminal that cannot move its cursor the same loop reads plain lines.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::PoisonError;

use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu,
    Signal, default_emacs_keybindings,
};

use rukh::TransactionStatus;

use crate::base::error::CliError;
use crate::base::output;
use crate::base::terminal::Terminal;
use crate::base::validate::SqlValidator;
use crate::prompt::completion::{Names, SqlCompleter};
use crate::prompt::highlight::SqlHighlighter;
use crate::prompt::history;
use crate::sessions::session::Session;
use crate::statements::input::{self, Input, Item};
use crate::statements::script::{self, Flow, Origin};

const PROMPT_MORE: &str = "   -> ";
const MENU: &str = "completion";

/// Reads and runs until `\q` or the end of input.
pub fn run(session: &mut Session, terminal: Terminal) -> Result<(), CliError> {
    output::tell(concat!(
        "rukh ",
        env!("CARGO_PKG_VERSION"),
        ". \\? lists commands, \\q quits.\n"
    ))?;
    if terminal.capable {
        run_editor(session, terminal)
    } else {
        run_plain(session)
    }
}

fn run_editor(session: &mut Session, terminal: Terminal) -> Result<(), CliError> {
    let names = Names::default();
    let mut editor = editor(names.clone(), terminal);
    loop {
        *names.lock().unwrap_or_else(PoisonError::into_inner) = session.connection().catalog_names();
        match editor.read_line(&SqlPrompt(prompt(session.connection().transaction_status()))) {
            Ok(Signal::Success(text)) => {
                // A lost history line is no reason to stop.
                let _ = editor.sync_history();
                if run_items(session, input::items(&text))? == Flow::Quit {
                    return Ok(());
                }
            }
            Ok(Signal::CtrlD) => return Ok(()),
            Ok(_) => {}
            Err(source) => {
                return Err(CliError::Terminal {
                    source: io::Error::other(source),
                });
            }
        }
    }
}

fn run_items(session: &mut Session, items: Vec<Item>) -> Result<Flow, CliError> {
    for item in items {
        match script::run_item(session, &item, &Origin::Typed) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Ok(Flow::Quit),
            Err(CliError::ClosedPipe) => return Err(CliError::ClosedPipe),
            // What follows on the same line was typed in the belief that this would work.
            Err(error) => {
                session.report(&error);
                break;
            }
        }
    }
    Ok(Flow::Continue)
}

fn editor(names: Names, terminal: Terminal) -> Reedline {
    let menu = ColumnarMenu::default().with_name(MENU).with_marker("");
    Reedline::create()
        .with_history(Box::new(history::open()))
        .with_validator(Box::new(SqlValidator))
        .with_highlighter(Box::new(SqlHighlighter))
        .with_hinter(Box::new(
            DefaultHinter::default().with_style(Style::new().fg(Color::DarkGray)),
        ))
        .with_completer(Box::new(SqlCompleter::new(names)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_edit_mode(Box::new(Emacs::new(keys())))
        .with_ansi_colors(terminal.colours)
        .use_bracketed_paste(true)
}

fn keys() -> reedline::Keybindings {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(complete),
    );
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(
        KeyModifiers::ALT,
        KeyCode::Enter,
        ReedlineEvent::Edit(vec![EditCommand::InsertNewline]),
    );
    keys
}

/// Returns the prompt, which shows as psql's does whether a transaction block is open, `*`, or
/// aborted, `!`.
fn prompt(status: TransactionStatus) -> &'static str {
    match status {
        TransactionStatus::Idle => "rukh> ",
        TransactionStatus::Open => "rukh*> ",
        TransactionStatus::Aborted => "rukh!> ",
    }
}

/// The prompt and, on further lines of a statement, `   -> `.
struct SqlPrompt(&'static str);

impl Prompt for SqlPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(PROMPT_MORE)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "failing ",
        };
        Cow::Owned(format!("({failing}search: {}) ", search.term))
    }
}

/// Reads lines without any editing, as a terminal without a movable cursor allows.
fn run_plain(session: &mut Session) -> Result<(), CliError> {
    let mut input = Input::new(io::stdin().lock());
    loop {
        output::tell(if input.is_open() {
            PROMPT_MORE
        } else {
            prompt(session.connection().transaction_status())
        })?;
        let more = read_plain_line(&mut input, session);
        let ready: Vec<Item> = std::iter::from_fn(|| input.next_ready()).collect();
        if run_items(session, ready)? == Flow::Quit || !more {
            return output::tell("\n");
        }
    }
}

/// Reads one line; one that is not UTF-8 is reported and dropped. Returns false at the end of input.
fn read_plain_line(input: &mut Input<impl BufRead>, session: &mut Session) -> bool {
    input.read_line().unwrap_or_else(|source| {
        let unreadable = source.kind() == io::ErrorKind::InvalidData;
        session.report(&CliError::Read {
            name: "standard input".to_owned(),
            source,
        });
        input.discard();
        unreadable
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_tell_of_transactions() {
        let statuses = [
            TransactionStatus::Idle,
            TransactionStatus::Open,
            TransactionStatus::Aborted,
        ];
        assert_eq!(statuses.map(prompt), ["rukh> ", "rukh*> ", "rukh!> "]);
    }
}
