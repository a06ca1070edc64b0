//! Signatures of PostgreSQL's catalog, and calls of them.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::edge::TYPES;
use rukh_testkit::postgres::PostgresDatabase;

/// The signatures over the types of [`TYPES`], the polymorphic ones too, that people call by name or as operators.
///
/// Left out are what implements operators, aggregates, indexes and input and output of types, and what asks the server.
const CATALOG: &str = "
    WITH types(o) AS (SELECT unnest('{16,17,20,21,23,25,700,701,1042,1043,1082,1083,1114,1184,1186,1700,2950,1007,1009,
            2283,2277,2276,2776,5077,5078}'::oid[])),
        named(k, n, t, r) AS (
            SELECT CASE WHEN p.prokind = 'a' AND a.aggkind = 'o' THEN 's' ELSE p.prokind::text END, p.proname, p.proargtypes, p.prorettype
            FROM pg_proc p LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
            WHERE p.pronamespace = 'pg_catalog'::regnamespace AND NOT p.proretset AND p.prokind IN ('f', 'a', 'w') AND p.pronargs <= 5
                AND a.aggkind IS DISTINCT FROM 'h'
                AND p.proname !~ '^(pg_|lo_|has_.*privilege|txid|xml_|inet_|numeric_|range_|current_|set_config|loread|lowrite|row_sec)'
                AND p.proname !~ '(_subdiff|_is_normalized)$'
                AND p.proname NOT IN ('int4inc', 'int8_sum', 'dexp', 'dlog1', 'dlog10', 'dround', 'dtrunc', 'lastval', 'textlen', 'to_ascii',
                    'like', 'notlike', 'like_escape', 'interval', 'time', 'timestamp', 'timestamptz', 'numeric', 'bpchar', 'varchar', 'version',
                    'is_normalized', 'normalize', 'similar_escape', 'timeofday', 'overlaps', 'getdatabaseencoding')
                AND NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid
                    AND coalesce(obj_description(p.oid, 'pg_proc'), 'implementation of') LIKE 'implementation of%')
                AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE a.aggfnoid <> p.oid AND p.oid IN (aggtransfn::oid, aggfinalfn::oid,
                    aggcombinefn::oid, aggserialfn::oid, aggdeserialfn::oid, aggmtransfn::oid, aggminvtransfn::oid, aggmfinalfn::oid))
                AND NOT EXISTS (SELECT FROM pg_amproc WHERE amproc = p.oid)
                AND NOT EXISTS (SELECT FROM pg_type WHERE p.oid IN (typinput::oid, typoutput::oid, typreceive::oid, typsend::oid))
            UNION ALL
            SELECT 'o', oprname, CASE oprleft WHEN 0 THEN oprright::text ELSE oprleft || ' ' || oprright END::oidvector, oprresult FROM pg_operator
            WHERE oprright <> 0 AND oprname !~ '^(~[<>]=?~|\\*[<>=]+)$')
    SELECT k, n, array_to_string(ARRAY(SELECT format_type(o, NULL) FROM unnest(t) WITH ORDINALITY u(o, at) ORDER BY at), ',')
    FROM named
    WHERE (SELECT bool_and(o IN (SELECT o FROM types)) FROM unnest(t) u(o)) IS NOT FALSE AND r IN (SELECT o FROM types)
    ORDER BY 1, 2, 3";

/// Functions that give something else each time.
const VARYING: [&str; 6] = [
    "now",
    "random",
    "gen_random_uuid",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
];

/// Texts that functions of these names read as words of their own: the name's beginning, the place of the argument, the words.
const WORDS: &[(&str, usize, &[&str])] = &[
    (
        "date_trunc",
        0,
        &[
            "day",
            "month",
            "hour",
            "week",
            "quarter",
            "century",
            "milliseconds",
            "fortnight",
        ],
    ),
    ("date_part", 0, FIELDS),
    ("extract", 0, FIELDS),
    (
        "timezone",
        0,
        &["UTC", "Europe/Paris", "America/New_York", "+02", "nowhere"],
    ),
    ("encode", 1, &["hex", "base64", "escape", "nothing"]),
    ("decode", 0, &["4142", "QUJD", "a\\\\b", "zz", ""]),
    ("decode", 1, &["hex", "base64", "escape", "nothing"]),
    (
        "to_char",
        1,
        &[
            "YYYY-MM-DD HH24:MI:SS.US",
            "TMDay, DD TMMonth",
            "FM999990.00",
            "S999",
            "999D99",
            "9.99EEEE",
            "RN",
            "Q WW IW J DDD",
            "HH12:MI am",
            "fmDDth",
        ],
    ),
    ("to_date", 1, &["YYYY-MM-DD", "DD Mon YYYY", "YYYYMMDD"]),
    ("to_timestamp", 1, &["YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS"]),
    ("to_number", 1, &["999", "S999D99", "9G999"]),
    ("format", 0, &["%s", "%I and %L", "%1$s", "%s %s", "%%"]),
    (
        "regexp",
        1,
        &["a", "[a-c]+", "(a)(b)?", ".", "^$", "\\d+", "(", "b*"],
    ),
    ("split_part", 1, &["a", ",", "", "b"]),
    ("string_to_array", 1, &["a", ",", "", "b"]),
    ("upper", 0, LETTERS),
    ("lower", 0, LETTERS),
    ("initcap", 0, LETTERS),
];

/// Texts of letters whose other case Unicode gives as several letters, or by what stands beside them.
const LETTERS: &[&str] = &["straße", "ßa ŉ ﬁn", "ΟΔΟΣ ᾳ", "İx ǆ", "éa-b_c1d", "aB Cd", ""];

const FIELDS: &[&str] = &[
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "epoch",
    "dow",
    "isodow",
    "doy",
    "week",
    "quarter",
    "century",
    "decade",
    "millennium",
    "milliseconds",
    "microseconds",
    "julian",
    "isoyear",
    "timezone",
    "nothing",
];

/// What a signature is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Function,
    Operator,
    Aggregate,
    /// An aggregate called with WITHIN GROUP.
    OrderedSet,
    Window,
}

/// A signature: types as PostgreSQL writes them, polymorphic ones too.
#[derive(Debug)]
pub struct Signature {
    kind: Kind,
    name: String,
    arguments: Vec<String>,
}

impl Signature {
    /// Reads those of PostgreSQL's catalog.
    pub fn all(postgres: &mut PostgresDatabase) -> Vec<Signature> {
        let rows = postgres.query(CATALOG).expect("PostgreSQL has a catalog").rows;
        let signature = |row: Vec<Option<String>>| {
            let mut parts = row.into_iter().flatten();
            let mut part = || parts.next().unwrap_or_default();
            let kind = match part().as_str() {
                "f" => Kind::Function,
                "o" => Kind::Operator,
                "a" => Kind::Aggregate,
                "s" => Kind::OrderedSet,
                _ => Kind::Window,
            };
            let name = part();
            let arguments = part();
            let arguments = arguments.split(',').filter(|name| !name.is_empty());
            Signature {
                kind,
                name,
                arguments: arguments.map(str::to_owned).collect(),
            }
        };
        rows.into_iter().map(signature).collect()
    }
}

/// An argument: its type, none for what is written as a literal alone, and texts of its values in a few rows.
#[derive(Debug)]
struct Argument {
    ty: Option<String>,
    values: Vec<Option<String>>,
}

impl Argument {
    /// As a constant of the first row.
    fn constant(&self) -> String {
        let literal = quoted(self.values[0].as_deref());
        match &self.ty {
            Some(ty) => format!("CAST({literal} AS {ty})"),
            None => literal,
        }
    }
}

fn quoted(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), |text| {
        format!("'{}'", text.replace('\'', "''"))
    })
}

/// A call of a signature with values.
#[derive(Debug)]
pub struct Call<'a> {
    signature: &'a Signature,
    arguments: Vec<Argument>,
}

impl<'a> Call<'a> {
    /// Draws a call: values of the signature's types; one argument in eight gets another type, one in eight none.
    pub fn of(signature: &'a Signature, random: &mut StdRng) -> Self {
        let any = |random: &mut StdRng| {
            let scalars = &TYPES[..TYPES.len() - 2];
            scalars.choose(random).map_or("integer", |(name, _)| *name)
        };
        let element = any(random);
        let (array, of_array) = match random.random_bool(0.5) {
            true => ("int[]", "integer"),
            false => ("text[]", "text"),
        };
        let has_array = signature.arguments.iter().any(|ty| ty.ends_with("array"));
        let concrete = |ty: &str, random: &mut StdRng| match ty {
            "anyarray" | "anycompatiblearray" => array.to_owned(),
            "anyelement" | "anycompatible" if has_array => of_array.to_owned(),
            "anyelement" | "anycompatible" | "anynonarray" => element.to_owned(),
            "\"any\"" => any(random).to_owned(),
            "numeric" if random.random_bool(0.5) => "numeric(20,4)".to_owned(),
            "character" => "char(5)".to_owned(),
            "character varying" => "varchar(6)".to_owned(),
            "integer[]" => "int[]".to_owned(),
            "time without time zone" => "time".to_owned(),
            "timestamp without time zone" => "timestamp".to_owned(),
            "timestamp with time zone" => "timestamptz".to_owned(),
            other => other.to_owned(),
        };
        let mut arguments = Vec::new();
        for (at, ty) in signature.arguments.iter().enumerate() {
            let of_signature = concrete(ty, random);
            let ty = match random.random_range(0..8) {
                0 => Some(any(random).to_owned()),
                1 => None,
                _ => Some(of_signature.clone()),
            };
            let words = WORDS
                .iter()
                .find(|(name, place, _)| *place == at && signature.name.starts_with(name));
            let shown = ty.as_deref().unwrap_or(&of_signature);
            let values = (0..3).map(|_| match (words, shown) {
                _ if random.random_bool(0.08) => None,
                (Some((_, _, words)), "text") => words.choose(random).map(|word| (*word).to_owned()),
                (_, "integer") if signature.kind != Kind::Aggregate && random.random_bool(0.5) => {
                    Some(random.random_range(-1..6).to_string())
                }
                _ => {
                    let values = TYPES.iter().find(|(name, _)| *name == shown);
                    let values = values.unwrap_or_else(|| panic!("no values of {shown}")).1;
                    values.choose(random).map(|value| (*value).to_owned())
                }
            });
            arguments.push(Argument {
                values: values.collect(),
                ty,
            });
        }
        Call { signature, arguments }
    }

    /// Whether the value is another one each time.
    pub fn varies(&self) -> bool {
        VARYING.contains(&self.signature.name.as_str())
    }

    /// Returns the call with the types that it was given.
    pub fn signature(&self) -> String {
        let types: Vec<&str> = self
            .arguments
            .iter()
            .map(|argument| argument.ty.as_deref().unwrap_or("unknown"))
            .collect();
        match (self.signature.kind, types.as_slice()) {
            (Kind::Operator, [right]) => format!("{} {right}", self.signature.name),
            (Kind::Operator, [left, right]) => format!("{left} {} {right}", self.signature.name),
            (Kind::Window, _) => format!("{}({}) OVER", self.signature.name, types.join(", ")),
            _ => format!("{}({})", self.signature.name, types.join(", ")),
        }
    }

    /// Whether it is computed of one row: of a function or an operator.
    pub fn is_scalar(&self) -> bool {
        matches!(self.signature.kind, Kind::Function | Kind::Operator)
    }

    /// Returns the types of the arguments; none for a literal alone.
    pub fn types(&self) -> Vec<Option<&str>> {
        self.arguments
            .iter()
            .map(|argument| argument.ty.as_deref())
            .collect()
    }

    /// Returns the values in a row of the arguments that have types, as literals.
    pub fn typed_values(&self, row: usize) -> impl Iterator<Item = String> {
        let typed = self.arguments.iter().filter(|argument| argument.ty.is_some());
        typed.map(move |argument| quoted(argument.values[row].as_deref()))
    }

    /// Spells it with the arguments as columns `a0`, `a1`, …; what has no type stays a literal.
    pub fn of_columns(&self) -> String {
        self.spelled(&self.columns())
    }

    /// Spells it with the values of the first row as constants.
    pub fn of_constants(&self) -> String {
        let constants: Vec<String> = self.arguments.iter().map(Argument::constant).collect();
        self.spelled(&constants)
    }

    /// Returns the queries that ask for it.
    pub fn queries(&self) -> Vec<String> {
        let constant = format!("SELECT {} AS r", self.of_constants());
        match self.signature.kind {
            Kind::Function | Kind::Operator if self.arguments.is_empty() => vec![constant],
            Kind::Function | Kind::Operator => {
                let column = format!("SELECT {} AS r FROM {} LIMIT 1", self.of_columns(), self.rows(1));
                vec![constant, column]
            }
            _ => vec![format!("SELECT {} AS r FROM {}", self.of_columns(), self.rows(3))],
        }
    }

    /// Returns the types of parameters, the query that has them, and their values; `None` for a call on rows, and for
    /// what has no argument that is a parameter. Texts and UUIDs are constants: as parameters they have no type of their own.
    pub fn prepared(&self) -> Option<[String; 3]> {
        if !self.is_scalar() {
            return None;
        }
        let (mut types, mut values, mut spelled) = (Vec::new(), Vec::new(), Vec::new());
        for argument in &self.arguments {
            match argument.ty.as_deref() {
                None | Some("text" | "varchar(6)" | "char(5)" | "uuid") => spelled.push(argument.constant()),
                Some(ty) => {
                    types.push(ty);
                    values.push(argument.constant());
                    spelled.push(format!("${}", types.len()));
                }
            }
        }
        if types.is_empty() {
            return None;
        }
        let query = format!("SELECT {} AS r", self.spelled(&spelled));
        Some([types.join(", "), query, values.join(", ")])
    }

    /// The arguments as columns of [`Call::rows`]; what has no type stays a literal.
    fn columns(&self) -> Vec<String> {
        let of = |(at, argument): (usize, &Argument)| match argument.ty {
            Some(_) => format!("a{at}"),
            None => argument.constant(),
        };
        self.arguments.iter().enumerate().map(of).collect()
    }

    fn rows(&self, count: usize) -> String {
        let rows: Vec<String> = (0..count.max(1))
            .map(|row| {
                let values = self.arguments.iter().map(|argument| {
                    let value = quoted(argument.values[row].as_deref());
                    format!(", {value}::text")
                });
                format!("({row}{})", values.collect::<String>())
            })
            .collect();
        let names: String = (0..self.arguments.len()).map(|at| format!(", x{at}")).collect();
        let typed: String = self
            .arguments
            .iter()
            .enumerate()
            .map(|(at, argument)| {
                let ty = argument.ty.as_deref().unwrap_or("text");
                format!(", CAST(x{at} AS {ty}) AS a{at}")
            })
            .collect();
        // The second row keeps the first from being a constant.
        let again = if count == 1 {
            format!(", {}", rows[0])
        } else {
            String::new()
        };
        format!(
            "(SELECT o{typed} FROM (VALUES {}{again}) v(o{names})) w",
            rows.join(", ")
        )
    }

    fn spelled(&self, arguments: &[String]) -> String {
        let name = &self.signature.name;
        match (self.signature.kind, name.as_str(), arguments) {
            (Kind::Operator, _, [right]) => format!("{name} {right}"),
            (Kind::Operator, _, [left, right]) => format!("{left} {name} {right}"),
            (Kind::OrderedSet, _, [fraction, value]) => {
                // What WITHIN GROUP has no column in must be the same in all rows.
                let constant = self.arguments[0].constant();
                let _ = fraction;
                format!("{name}({constant}) WITHIN GROUP (ORDER BY {value})")
            }
            (Kind::OrderedSet, _, [value]) => format!("{name}() WITHIN GROUP (ORDER BY {value})"),
            (Kind::Window, ..) => format!("{name}({}) OVER (ORDER BY o)", arguments.join(", ")),
            (Kind::Aggregate, "count", []) => "count(*)".to_owned(),
            (Kind::Aggregate, "array_agg" | "string_agg", _) => {
                format!("{name}({} ORDER BY o)", arguments.join(", "))
            }
            (_, "extract", [_, value]) => {
                let field = self.arguments[0].values[0].as_deref().unwrap_or("year");
                format!("extract('{}' FROM {value})", field.replace('\'', "''"))
            }
            (_, "position", [text, within]) => format!("position({text} IN {within})"),
            (_, "overlay", [text, over, from]) => format!("overlay({text} PLACING {over} FROM {from})"),
            (_, "overlay", [text, over, from, count]) => {
                format!("overlay({text} PLACING {over} FROM {from} FOR {count})")
            }
            _ => format!("{name}({})", arguments.join(", ")),
        }
    }
}
