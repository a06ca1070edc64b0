//! PL/pgSQL: blocks of statements that a session runs one after the other.
//!
//! What is SQL in them stays text, with its place: which of its names are variables, only the session knows that runs it.

/// A piece of SQL in a block: an expression, a query, or a whole statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The text, without what ends it.
    pub text: String,
    /// Its first character in the block, from 1.
    pub position: usize,
}

/// `[<<label>>] [DECLARE …] BEGIN … [EXCEPTION …] END`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcedureBlock {
    /// The label, by which EXIT and names of variables mean the block.
    pub label: Option<String>,
    /// Its variables, in order: a later one may be computed from those before.
    pub declarations: Vec<Declaration>,
    /// Its statements.
    pub body: Vec<ProcedureStep>,
    /// What is done about errors of its statements.
    pub handlers: Vec<Handler>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The name, unique in its block.
    pub name: String,
    /// Place of the name in the block, in characters from 1.
    pub position: usize,
    /// What it is.
    pub kind: VariableKind,
}

/// What a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// A value.
    Value {
        /// The type as written: a name, `table.column%TYPE`, `table%ROWTYPE`, or RECORD.
        ty: Fragment,
        /// CONSTANT: nothing is assigned to it later.
        constant: bool,
        /// NOT NULL.
        not_null: bool,
        /// DEFAULT or `:=`.
        default: Option<Fragment>,
    },
    /// `ALIAS FOR`: another name of a variable.
    Alias(String),
    /// A cursor of a query.
    Cursor {
        /// Parameters, each a name and a type.
        parameters: Vec<(String, Fragment)>,
        /// The query.
        query: Fragment,
    },
}

/// `WHEN condition [OR …] THEN …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The conditions, any of which it handles.
    pub conditions: Vec<Condition>,
    /// Its statements.
    pub body: Vec<ProcedureStep>,
}

/// Which error is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A name, such as `unique_violation`, or `others`; and its place in the block.
    Named(String, usize),
    /// SQLSTATE.
    SqlState(String),
}

/// A statement of a block, and where it begins in it, in characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcedureStep {
    /// Its first character.
    pub position: usize,
    /// What it does.
    pub action: ProcedureAction,
}

/// Where values go: a variable, one of its fields, or one of its elements, as written.
pub type Target = Fragment;

/// INTO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Into {
    /// STRICT: exactly one row.
    pub strict: bool,
    /// The variables: one of a row, or one for each column.
    pub targets: Vec<Target>,
}

/// A query of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopQuery {
    /// Its text, or the name of a cursor with arguments.
    Written(Fragment),
    /// EXECUTE of a text.
    Computed {
        /// The text.
        sql: Fragment,
        /// USING.
        using: Vec<Fragment>,
    },
}

/// What a statement of a block does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcedureAction {
    /// A block within.
    Block(ProcedureBlock),
    /// `target := value`.
    Assign {
        /// The variable.
        target: Target,
        /// The value.
        value: Fragment,
    },
    /// IF, ELSIF and ELSE; CASE without an operand.
    If {
        /// Conditions with what is done where they hold.
        arms: Vec<(Fragment, Vec<ProcedureStep>)>,
        /// ELSE; `None` of a CASE without one, which fails where no arm holds.
        otherwise: Option<Vec<ProcedureStep>>,
        /// Whether it was CASE.
        is_case: bool,
    },
    /// CASE of a value.
    Case {
        /// The value.
        operand: Fragment,
        /// Values that it may be, between commas, with what is done then.
        arms: Vec<(Vec<Fragment>, Vec<ProcedureStep>)>,
        /// ELSE.
        otherwise: Option<Vec<ProcedureStep>>,
    },
    /// LOOP, and WHILE with its condition.
    Loop {
        /// The label.
        label: Option<String>,
        /// WHILE.
        condition: Option<Fragment>,
        /// What is done.
        body: Vec<ProcedureStep>,
    },
    /// FOR of whole numbers.
    ForRange {
        /// The label.
        label: Option<String>,
        /// The variable, which is one of the loop's own.
        variable: String,
        /// REVERSE.
        reverse: bool,
        /// The first number.
        from: Fragment,
        /// The last.
        to: Fragment,
        /// BY.
        by: Option<Fragment>,
        /// What is done.
        body: Vec<ProcedureStep>,
    },
    /// FOR of the rows of a query.
    ForQuery {
        /// The label.
        label: Option<String>,
        /// The variables.
        targets: Vec<Target>,
        /// The query.
        query: LoopQuery,
        /// What is done.
        body: Vec<ProcedureStep>,
    },
    /// FOREACH of the elements of an array.
    ForEach {
        /// The label.
        label: Option<String>,
        /// The variable.
        target: Target,
        /// The array.
        array: Fragment,
        /// What is done.
        body: Vec<ProcedureStep>,
    },
    /// EXIT or CONTINUE.
    Leave {
        /// Whether the loop goes on.
        goes_on: bool,
        /// Which loop or block; the innermost loop without it.
        label: Option<String>,
        /// WHEN.
        when: Option<Fragment>,
    },
    /// RETURN.
    Return(Option<Fragment>),
    /// RETURN NEXT or RETURN QUERY.
    ReturnRows(LoopQuery),
    /// RAISE.
    Raise(Raise),
    /// ASSERT.
    Assert {
        /// What has to hold.
        condition: Fragment,
        /// The message.
        message: Option<Fragment>,
    },
    /// PERFORM: a query whose rows are dropped, behind PERFORM.
    Perform(Fragment),
    /// A statement of SQL.
    Sql {
        /// The statement without INTO.
        sql: Fragment,
        /// INTO.
        into: Option<Into>,
    },
    /// EXECUTE.
    Execute {
        /// The text of the statement.
        sql: Fragment,
        /// INTO.
        into: Option<Into>,
        /// USING.
        using: Vec<Fragment>,
    },
    /// `GET [STACKED] DIAGNOSTICS`.
    Diagnostics {
        /// STACKED: of the error that is handled.
        stacked: bool,
        /// Variables, and what goes into them.
        items: Vec<(Target, String)>,
    },
    /// OPEN of a cursor.
    Open {
        /// The cursor.
        cursor: String,
        /// Arguments, or FOR with a query.
        query: Option<LoopQuery>,
    },
    /// FETCH or MOVE.
    Fetch {
        /// The cursor.
        cursor: String,
        /// `NEXT`, `PRIOR` and their kin, as written.
        direction: Option<String>,
        /// INTO; none of MOVE.
        targets: Vec<Target>,
    },
    /// CLOSE.
    Close(String),
    /// COMMIT, or ROLLBACK.
    EndTransaction {
        /// Whether it is COMMIT.
        commits: bool,
    },
    /// NULL: nothing.
    Nothing,
}

/// RAISE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// `debug`, `log`, `info`, `notice`, `warning` or `exception`.
    pub level: String,
    /// What is raised; nothing raises the error that is handled again.
    pub what: Option<Raised>,
    /// USING: options and their values.
    pub options: Vec<(String, Fragment)>,
}

/// What RAISE raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raised {
    /// A format, in which `%` stands for a value.
    Format(String, Vec<Fragment>),
    /// A condition.
    Condition(Condition),
    /// What the options say.
    Options,
}
