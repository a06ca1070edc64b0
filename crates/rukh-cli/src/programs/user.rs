//! `rukh user`: users of a database that no process has open.
//!
//! A password comes from `RUKH_PASSWORD`, from the prompt, or where there is no terminal from the first line of
//! standard input: never from the command line, which other users of the machine can see. What is stored is
//! what the password is checked by, and that is all that leaves this file.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::Path;

use nu_ansi_term::Style;
use reedline::{Highlighter, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal, StyledText};
use rukh::scram::Verifier;

use crate::base::error::{CliError, Exit};
use crate::programs::arguments::UserAction;
use crate::programs::run::{self, Access};
use crate::words::names;

/// The variable with the password.
const PASSWORD: &str = "RUKH_PASSWORD";

/// Adds or changes a user.
pub fn run(action: &UserAction) -> Exit {
    let (directory, sql) = match statement(action) {
        Ok(statement) => statement,
        Err(error) => return run::give_up(&error),
    };
    run::with_session(directory, Access::Write, |session| session.run_statement(&sql))
}

fn statement(action: &UserAction) -> Result<(&Path, String), CliError> {
    let (verb, directory, name, superuser) = match action {
        UserAction::Add {
            directory,
            name,
            superuser,
        } => ("CREATE", directory, name, *superuser),
        UserAction::Password { directory, name } => ("ALTER", directory, name, false),
    };
    let verifier = Verifier::of_password(&password(name)?);
    let verifier = verifier.map_err(|error| CliError::command(error.message))?;
    let superuser = if superuser { " SUPERUSER" } else { "" };
    let name = names::quoted(name);
    Ok((
        directory.as_path(),
        format!("{verb} USER {name}{superuser} PASSWORD '{verifier}'"),
    ))
}

fn password(name: &str) -> Result<String, CliError> {
    let given = std::env::var(PASSWORD).ok();
    let password = match given {
        Some(password) => password,
        None if std::io::stdin().is_terminal() => typed(name)?,
        None => {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line);
            read.map_err(|source| CliError::Read {
                name: "standard input".to_owned(),
                source,
            })?;
            line.trim_end_matches(['\r', '\n']).to_owned()
        }
    };
    match password.is_empty() {
        true => Err(CliError::command("a user needs a password")),
        false => Ok(password),
    }
}

/// Asks twice, and shows nothing of what is typed.
fn typed(name: &str) -> Result<String, CliError> {
    let ask = |text: String| {
        let mut editor = Reedline::create().with_highlighter(Box::new(Stars));
        let signal = editor.read_line(&Question(text));
        match signal {
            Ok(Signal::Success(line)) => Ok(line),
            Ok(_) => Err(CliError::command("no password was given")),
            Err(source) => Err(CliError::Read {
                name: "the terminal".to_owned(),
                source,
            }),
        }
    };
    let first = ask(format!("Password for {name}: "))?;
    match first == ask("Once more: ".to_owned())? {
        true => Ok(first),
        false => Err(CliError::command("the two passwords differ")),
    }
}

/// Shows a star for each character.
struct Stars;

impl Highlighter for Stars {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut text = StyledText::new();
        text.push((Style::default(), "*".repeat(line.chars().count())));
        text
    }
}

/// A prompt that is one text.
struct Question(String);

impl Prompt for Question {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_history_search_indicator(&self, _: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
}
