//! Readers that go away, programs that talk through pipes, and Ctrl-C.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::transcript::Place;

/// More text than a pipe holds, however few rows a batch has.
const MANY_ROWS: &str =
    "SELECT a.n * 100 + b.n AS n, 'a text that fills the pipe sooner' AS t FROM h AS a CROSS JOIN h AS b";

fn place() -> Place {
    let values = (0..100).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ");
    Place::with(&format!(
        "CREATE TABLE h (n INT PRIMARY KEY); UPSERT INTO h VALUES {values};"
    ))
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let place = place();
    for format in ["table", "csv", "json", "jsonl", "markdown", "expanded"] {
        let mut child = place.start(&["db", "--format", format, "-c", MANY_ROWS]);
        let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a first line comes");
        drop(out);
        assert_eq!(rest_of_errors(&mut child), "", "{format}");
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{format}");
    }
}

#[test]
fn answers_come_while_the_pipe_is_open() {
    let mut talk = Talk::start(&place());
    assert_eq!(talk.ask("SELECT n FROM h WHERE n = 7;\n"), "7\n");
    assert_eq!(
        talk.ask("SELECT n\nFROM h WHERE n = 8; -- with a comment\n"),
        "8\n"
    );
    assert_eq!(talk.ask("\\echo hello\n"), "hello\n");
    drop(talk.questions.take());
    assert_eq!(talk.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn ctrl_c_ends_a_script_that_waits() {
    let mut talk = Talk::start(&place());
    interrupt(&talk.child);
    assert_eq!(rest_of_errors(&mut talk.child), "");
    assert_eq!(talk.child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn ctrl_c_ends_a_script_that_works() {
    let mut talk = Talk::start(&place());
    talk.send(
        "SELECT count(*) FROM h a, h b, h c, h d, h e, h f WHERE a.n + b.n + c.n + d.n + e.n + f.n < 0;\n",
    );
    // The first asks the statement to end; a statement that does not hear is ended with the process.
    while talk.child.try_wait().expect("it runs").is_none() {
        interrupt(&talk.child);
    }
    assert_eq!(talk.child.wait().expect("it ends").code(), Some(130));
}

/// A running process with its pipes.
struct Talk {
    child: Child,
    questions: Option<std::process::ChildStdin>,
    answers: BufReader<std::process::ChildStdout>,
}

impl Talk {
    /// Starts a script on standard input and waits for its first answer.
    fn start(place: &Place) -> Talk {
        let mut child = place.start(&["db", "-t", "--format", "csv"]);
        let questions = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut talk = Talk {
            child,
            questions,
            answers,
        };
        assert_eq!(talk.ask("\\echo ready\nSELECT 1;\n"), "ready\n");
        assert_eq!(talk.answer(), "1\n");
        talk
    }

    fn send(&mut self, text: &str) {
        let pipe = self.questions.as_mut().expect("the pipe is open");
        pipe.write_all(text.as_bytes()).expect("the process reads");
        pipe.flush().expect("the process reads");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the process answers");
        line
    }

    fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.answer()
    }
}

/// Sends SIGINT; a process that has just ended does not mind.
fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    assert!(sent.is_ok(), "signals can be sent");
}

fn rest_of_errors(child: &mut Child) -> String {
    let mut errors = String::new();
    let pipe = child.stderr.as_mut().expect("standard error is a pipe");
    pipe.read_to_string(&mut errors).expect("errors are text");
    errors
}
