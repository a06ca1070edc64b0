//! The table of signatures: for each function, aggregate, window function and operator its names, the types of its arguments and the type of its result.
//!
//! A line is `names: (arguments) result, (arguments) result, …`, with PostgreSQL's short names of types. The implementation is the
//! function of the name, which takes these types and gives that result, or one that is cast to it. A line whose names are types
//! is computed by casts. A test compares the table with PostgreSQL's `pg_proc`.
//!
//! Signatures of `STORED` are not PostgreSQL's: expressions that databases hold call them. A call means one only where it means no other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use crate::casts::table::Kind;

const FUNCTIONS: &str = "
abs: (int2) int2, (int4) int4, (int8) int8, (float4) float4, (float8) float8, (numeric) numeric
acosd asind atand cosd cotd sind tand: (float8) float8
acos acosh asin asinh atan atanh cbrt cos cosh cot degrees radians sin sinh tan tanh: (float8) float8
dsqrt: (float8) float8
exp ln log log10 sqrt sign: (float8) float8, (numeric) numeric
log: (numeric numeric) numeric
atan2 atan2d: (float8 float8) float8
pow power: (float8 float8) float8, (numeric numeric) numeric
ceil ceiling floor: (float8) float8, (numeric) numeric
round trunc: (float8) float8, (numeric) numeric, (numeric int4) numeric
div: (numeric numeric) numeric
min_scale scale: (numeric) int4
width_bucket: (float8 float8 float8 int4) int4, (numeric numeric numeric int4) int4
trim_scale: (numeric) numeric
gcd lcm: (int4 int4) int4, (int8 int8) int8, (numeric numeric) numeric
pi: () float8
factorial: (int8) numeric
int2shl int2shr: (int2 int4) int2
bitwise_not: (int2) int2, (int4) int4, (int8) int8, (inet) inet

ascii: (text) int4
bit_length octet_length: (text) int4, (bytea) int4
substr_of_bytes substring_of_bytes: (bytea int4) bytea, (bytea int4 int4) bytea
btrim_of_bytes ltrim_of_bytes rtrim_of_bytes: (bytea bytea) bytea
position_of_bytes: (bytea bytea) int4
bit_length_of_bytes: (bytea) int4
length: (text) int4, (bytea) int4
char_length character_length: (text) int4
chr: (int4) text
btrim ltrim rtrim: (text) text, (text text) text, (bytea bytea) bytea
initcap lower upper reverse: (text) text
left right: (text int4) text
lpad rpad: (text int4) text, (text int4 text) text
repeat: (text int4) text
replace translate: (text text text) text
split_part: (text text int4) text
starts_with: (text text) bool
strpos: (text text) int4
position: (text text) int4, (bytea bytea) int4
overlay: (text text int4) text, (text text int4 int4) text, (bytea bytea int4) bytea, (bytea bytea int4 int4) bytea
substring: (text int4) text, (text int4 int4) text, (bytea int4) bytea, (bytea int4 int4) bytea
substr: (text int4) text, (text int4 int4) text, (bytea int4) bytea, (bytea int4 int4) bytea
unistr: (text) text
to_number: (text text) numeric
to_hex: (int4) text, (int8) text
md5: (text) text, (bytea) text
sha224 sha256 sha384 sha512: (bytea) bytea
bit_count: (bytea) int8
get_bit: (bytea int8) int4
get_byte: (bytea int4) int4
set_bit: (bytea int8 int4) bytea
set_byte: (bytea int4 int4) bytea
encode: (bytea text) text
decode: (text text) bytea
quote_ident: (text) text
quote_literal quote_nullable: (text) text, (anyelement) text
regexp_like: (text text) bool, (text text text) bool
regexp_match regexp_split_to_array: (text text) text[], (text text text) text[]
similar_to_escape: (text) text, (text text) text
regexp_count: (text text) int4, (text text int4) int4, (text text int4 text) int4
regexp_instr: (text text) int4, (text text int4) int4, (text text int4 int4) int4, (text text int4 int4 int4) int4, \\
    (text text int4 int4 int4 text) int4
regexp_substr: (text text) text, (text text int4) text, (text text int4 int4) text, (text text int4 int4 text) text
regexp_replace: (text text text) text, (text text text text) text, (text text text int4) text, (text text text int4 int4) text, \\
    (text text text int4 int4 text) text

extract: (text date) numeric, (text time) numeric, (text timestamp) numeric, (text timestamptz) numeric, (text interval) numeric
date_part: (text date) float8, (text time) float8, (text timestamp) float8, (text timestamptz) float8, (text interval) float8
date_trunc: (text timestamptz) timestamptz, (text timestamp) timestamp, (text interval) interval, (text timestamptz text) timestamptz
date_bin: (interval timestamp timestamp) timestamp, (interval timestamptz timestamptz) timestamptz, \\
    (interval timestamp) timestamp, (interval timestamptz) timestamptz
timezone: (text timestamp) timestamptz, (text timestamptz) timestamp, (interval timestamp) timestamptz, (interval timestamptz) timestamp
timezone_of_interval: (interval timestamp) timestamptz, (interval timestamptz) timestamp
to_timestamp: (float8) timestamptz, (text text) timestamptz
to_date: (text text) date
age: (timestamp) interval, (timestamp timestamp) interval, (timestamptz) interval, (timestamptz timestamptz) interval
justify_days justify_hours justify_interval: (interval) interval
isfinite: (date) bool, (interval) bool, (timestamp) bool, (timestamptz) bool
overlaps: (time time time time) bool, (time time time interval) bool, \\
    (time interval time time) bool, (time interval time interval) bool, \\
    (timestamp timestamp timestamp timestamp) bool, (timestamp timestamp timestamp interval) bool, \\
    (timestamp interval timestamp timestamp) bool, (timestamp interval timestamp interval) bool, \\
    (timestamptz timestamptz timestamptz timestamptz) bool, (timestamptz timestamptz timestamptz interval) bool, \\
    (timestamptz interval timestamptz timestamptz) bool, (timestamptz interval timestamptz interval) bool
make_date: (int4 int4 int4) date
make_time: (int4 int4 float8) time
make_timestamp: (int4 int4 int4 int4 int4 float8) timestamp
make_timestamptz: (int4 int4 int4 int4 int4 float8) timestamptz, (int4 int4 int4 int4 int4 float8 text) timestamptz
to_char: (int4 text) text, (int8 text) text, (float4 text) text, (float8 text) text, (numeric text) text, (interval text) text, (timestamp text) text, (timestamptz text) text

array_append: (anycompatiblearray anycompatible) anycompatiblearray
array_prepend: (anycompatible anycompatiblearray) anycompatiblearray
array_cat: (anycompatiblearray anycompatiblearray) anycompatiblearray
array_remove: (anycompatiblearray anycompatible) anycompatiblearray
array_replace: (anycompatiblearray anycompatible anycompatible) anycompatiblearray
array_position: (anycompatiblearray anycompatible) int4, (anycompatiblearray anycompatible int4) int4
array_positions: (anycompatiblearray anycompatible) int4[]
array_to_string: (anyarray text) text, (anyarray text text) text
string_to_array: (text text) text[], (text text text) text[]
array_dims: (anyarray) text
array_ndims cardinality: (anyarray) int4
array_length array_lower array_upper: (anyarray int4) int4
trim_array: (anyarray int4) anyarray
array_assign: (anyarray int4[] anyarray) anyarray, (uuid[] int4[] text[]) uuid[]

enum_first enum_last: (anyenum) anyenum
enum_range: (anyenum) anyarray, (anyenum anyenum) anyarray

abbrev: (inet) text, (cidr) text
broadcast hostmask netmask: (inet) inet
family masklen: (inet) int4
host: (inet) text
network: (inet) cidr
inet_merge: (inet inet) cidr
inet_same_family network_sub network_subeq network_sup network_supeq network_overlap: (inet inet) bool
inetnot: (inet) inet
inetand inetor: (inet inet) inet
inetpl: (inet int8) inet
int8pl_inet: (int8 inet) inet
inetmi_int8: (inet int8) inet
inetmi: (inet inet) int8
set_masklen: (inet int4) inet, (cidr int4) cidr
network_show: (inet) text
inet_to_cidr: (inet) cidr
cidr_to_inet: (cidr) inet

json_object_field: (json text) json
json_object_field_text: (json text) text
json_array_element: (json int4) json
json_array_element_text: (json int4) text
json_extract_path: (json text[]) json
json_extract_path_text: (json text[]) text
json_typeof: (json) text
json_array_length: (json) int4
json_strip_nulls: (json) json
jsonb_object_field: (jsonb text) jsonb
jsonb_object_field_text: (jsonb text) text
jsonb_array_element: (jsonb int4) jsonb
jsonb_array_element_text: (jsonb int4) text
jsonb_extract_path: (jsonb text[]) jsonb
jsonb_extract_path_text: (jsonb text[]) text
jsonb_typeof jsonb_pretty: (jsonb) text
jsonb_array_length: (jsonb) int4
jsonb_strip_nulls: (jsonb) jsonb
jsonb_contains jsonb_contained: (jsonb jsonb) bool
jsonb_exists: (jsonb text) bool
jsonb_exists_any jsonb_exists_all: (jsonb text[]) bool
jsonb_concat: (jsonb jsonb) jsonb
jsonb_delete: (jsonb text) jsonb, (jsonb int4) jsonb, (jsonb text[]) jsonb
jsonb_delete_path: (jsonb text[]) jsonb
jsonb_assign: (jsonb text[] jsonb) jsonb
jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz: (jsonb jsonpath jsonb bool) bool
jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz: (jsonb jsonpath jsonb bool) jsonb
textregexeq textregexne texticregexeq texticregexne: (text text) bool
jsonb_set_lax: (jsonb text[] jsonb bool text) jsonb
json_array_text: (json) text, (jsonb) text
json_object: (text[]) json, (text[] text[]) json
jsonb_object: (text[]) jsonb, (text[] text[]) jsonb
make_interval: (int4 int4 int4 int4 int4 int4 float8) interval
jsonb_path_exists_opr jsonb_path_match_opr: (jsonb jsonpath) bool
jsonb_set jsonb_insert: (jsonb text[] jsonb bool) jsonb

cidr: (inet) cidr
text: (bool) text, (bpchar) text, (inet) text
bool: (int4) bool, (jsonb) bool
int2: (int4) int2, (int8) int2, (float4) int2, (float8) int2, (numeric) int2, (jsonb) int2
int4: (bool) int4, (int2) int4, (int8) int4, (float4) int4, (float8) int4, (numeric) int4, (jsonb) int4
int8: (int2) int8, (int4) int8, (float4) int8, (float8) int8, (numeric) int8, (jsonb) int8
float4: (int2) float4, (int4) float4, (int8) float4, (float8) float4, (numeric) float4, (jsonb) float4
float8: (int2) float8, (int4) float8, (int8) float8, (float4) float8, (numeric) float8, (jsonb) float8
date: (timestamp) date, (timestamptz) date
";

const AGGREGATES: &str = "
sum: (int2) int8, (int4) int8, (int8) numeric, (float4) float4, (float8) float8, (numeric) numeric, (interval) interval
avg: (int2) numeric, (int4) numeric, (int8) numeric, (float4) float8, (float8) float8, (numeric) numeric, (interval) interval
max min: (int2) int2, (int4) int4, (int8) int8, (float4) float4, (float8) float8, (numeric) numeric, (text) text, (bpchar) bpchar, \\
    (date) date, (time) time, (timestamp) timestamp, (timestamptz) timestamptz, (interval) interval, (anyarray) anyarray, (anyenum) anyenum, (inet) inet
stddev stddev_pop stddev_samp var_pop var_samp variance: (int2) numeric, (int4) numeric, (int8) numeric, (float4) float8, \\
    (float8) float8, (numeric) numeric
corr covar_pop covar_samp regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy: (float8 float8) float8
regr_count: (float8 float8) int8
bit_and bit_or bit_xor: (int2) int2, (int4) int4, (int8) int8
bool_and bool_or every: (bool) bool
array_agg: (anynonarray) anyarray, (anyarray) anyarray
string_agg: (text text) text, (bytea bytea) bytea
mode: (anyelement) anyelement
percentile_cont: (float8 float8) float8, (float8 interval) interval
percentile_disc: (float8 anyelement) anyelement
";

/// Aggregates of types that PostgreSQL has none of.
const MORE_AGGREGATES: &str = "
max min: (bool) bool, (bytea) bytea, (uuid) uuid
";

const WINDOWS: &str = "
dense_rank rank row_number: () int8
cume_dist percent_rank: () float8
ntile: (int4) int4
lag lead: (anyelement) anyelement, (anyelement int4) anyelement, (anycompatible int4 anycompatible) anycompatible
first_value last_value: (anyelement) anyelement
nth_value: (anyelement int4) anyelement
";

const STORED: &str = "
round trunc: (float8 int4) float8
";

const OPERATORS: &str = "
= <> < <= > >=: (bool bool) bool, (int2 int2) bool, (int2 int4) bool, (int2 int8) bool, (int4 int2) bool, (int4 int4) bool, \\
    (int4 int8) bool, (int8 int2) bool, (int8 int4) bool, (int8 int8) bool, (float4 float4) bool, (float4 float8) bool, \\
    (float8 float4) bool, (float8 float8) bool, (numeric numeric) bool, (date date) bool, (date timestamp) bool, \\
    (date timestamptz) bool, (timestamp date) bool, (timestamp timestamp) bool, (timestamp timestamptz) bool, \\
    (timestamptz date) bool, (timestamptz timestamp) bool, (timestamptz timestamptz) bool, (time time) bool, \\
    (interval interval) bool, (uuid uuid) bool, (bytea bytea) bool, (text text) bool, (bpchar bpchar) bool, (anyarray anyarray) bool, \\
    (anyenum anyenum) bool, (jsonb jsonb) bool, (inet inet) bool
~ !~ ~* !~* ~~ !~~ ~~* !~~*: (text text) bool, (bpchar text) bool
||: (text text) text, (bytea bytea) bytea, (text anynonarray) text, (anynonarray text) text, \\
    (anycompatiblearray anycompatible) anycompatiblearray, (anycompatible anycompatiblearray) anycompatiblearray, \\
    (anycompatiblearray anycompatiblearray) anycompatiblearray, (jsonb jsonb) jsonb
@> <@ &&: (anyarray anyarray) bool
&& << <<= >> >>=: (inet inet) bool
@> <@: (jsonb jsonb) bool
->: (json text) json, (json int4) json, (jsonb text) jsonb, (jsonb int4) jsonb
->>: (json text) text, (json int4) text, (jsonb text) text, (jsonb int4) text
#>: (json text[]) json, (jsonb text[]) jsonb
#>>: (json text[]) text, (jsonb text[]) text
?: (jsonb text) bool
?| ?&: (jsonb text[]) bool
@? @@: (jsonb jsonpath) bool
-: (jsonb text) jsonb, (jsonb int4) jsonb, (jsonb text[]) jsonb
#-: (jsonb text[]) jsonb
^: (float8 float8) float8, (numeric numeric) numeric
+ - * /: (int2 int2) int2, (int2 int4) int4, (int2 int8) int8, (int4 int2) int4, (int4 int4) int4, (int4 int8) int8, \\
    (int8 int2) int8, (int8 int4) int8, (int8 int8) int8, (float4 float4) float4, (float4 float8) float8, \\
    (float8 float4) float8, (float8 float8) float8, (numeric numeric) numeric
%: (int2 int2) int2, (int4 int4) int4, (int8 int8) int8, (numeric numeric) numeric
& | #: (int2 int2) int2, (int4 int4) int4, (int8 int8) int8
& |: (inet inet) inet
+: (inet int8) inet, (int8 inet) inet
-: (inet int8) inet, (inet inet) int8
<< >>: (int2 int4) int2, (int4 int4) int4, (int8 int4) int8
+: (date int4) date, (int4 date) date, (date time) timestamp, (time date) timestamp, (date interval) timestamp, \\
    (interval date) timestamp, (time interval) time, (interval time) time, (timestamp interval) timestamp, \\
    (interval timestamp) timestamp, (timestamptz interval) timestamptz, (interval timestamptz) timestamptz, (interval interval) interval
-: (date int4) date, (date date) int4, (date interval) timestamp, (time time) interval, (time interval) time, \\
    (timestamp interval) timestamp, (timestamp timestamp) interval, (timestamptz interval) timestamptz, \\
    (timestamptz timestamptz) interval, (interval interval) interval
*: (interval float8) interval, (float8 interval) interval
/: (interval float8) interval
";

/// What a signature says of an argument or result. All but types are PostgreSQL's polymorphic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A type.
    Is(Kind),
    /// `anyelement`: any type, the same one in all places.
    Element,
    /// `anynonarray`: as `anyelement`, but no array.
    NonArray,
    /// `anyenum`: as `anyelement`, but an enum.
    Enum,
    /// `anyarray`: an array of `anyelement`.
    Array,
    /// `anycompatible`: any type that implicit casts bring to one with those of the other places.
    Compatible,
    /// `anycompatiblearray`: an array of `anycompatible`.
    CompatibleArray,
}

impl Parameter {
    /// Returns the type; `None` of polymorphic ones.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Parameter::Is(kind) => Some(kind),
            _ => None,
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let polymorphic = POLYMORPHIC.iter().find(|(_, parameter)| parameter == self);
        match (self, polymorphic) {
            (Parameter::Is(kind), _) => kind.fmt(f),
            (_, name) => f.write_str(name.map_or("", |(name, _)| name)),
        }
    }
}

const POLYMORPHIC: [(&str, Parameter); 6] = [
    ("anyenum", Parameter::Enum),
    ("anyelement", Parameter::Element),
    ("anynonarray", Parameter::NonArray),
    ("anyarray", Parameter::Array),
    ("anycompatible", Parameter::Compatible),
    ("anycompatiblearray", Parameter::CompatibleArray),
];

/// A list of argument types of a function, and what it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// Types of the arguments.
    pub arguments: Vec<Parameter>,
    /// Type of the result.
    pub result: Parameter,
}

/// Functions by name.
pub type Functions = BTreeMap<&'static str, Vec<Overload>>;

/// Returns the table.
pub fn functions() -> &'static Functions {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| read(FUNCTIONS));
    &TABLE
}

/// Returns the signatures of a function that only expressions of databases are meant to call.
pub fn stored(name: &str) -> &'static [Overload] {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| read(STORED));
    TABLE.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the table of aggregates, those with WITHIN GROUP among them: its values are their last arguments.
pub fn aggregates() -> &'static Functions {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| read(AGGREGATES));
    &TABLE
}

/// Returns the signatures of an aggregate, those that PostgreSQL has not last.
pub fn aggregate(name: &str) -> Option<&'static [Overload]> {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| {
        let mut table = aggregates().clone();
        for (name, more) in read(MORE_AGGREGATES) {
            table.entry(name).or_default().extend(more);
        }
        table
    });
    TABLE.get(name).map(Vec::as_slice)
}

/// Returns the table of window functions.
pub fn windows() -> &'static Functions {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| read(WINDOWS));
    &TABLE
}

/// Returns the table of operators of two operands.
pub fn operators() -> &'static Functions {
    static TABLE: LazyLock<Functions> = LazyLock::new(|| read(OPERATORS));
    &TABLE
}

/// Returns the type that a function of this name casts to; `None` of functions that do something else.
pub fn cast_target(name: &str) -> Option<Kind> {
    let overloads = functions().get(name)?;
    kind(name).filter(|ty| {
        overloads
            .iter()
            .all(|overload| overload.result == Parameter::Is(*ty))
    })
}

fn read(text: &'static str) -> Functions {
    let mut table = Functions::new();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let (names, first) = line.split_once(':').expect("a line has names before a colon");
        let mut overloads = Vec::new();
        let mut rest = first;
        loop {
            let goes_on = rest.trim_end().ends_with('\\');
            let listed = rest.trim_end_matches('\\').split(',').map(str::trim);
            overloads.extend(listed.filter(|overload| !overload.is_empty()).map(read_overload));
            match goes_on {
                true => rest = lines.next().expect("a line that goes on has another"),
                false => break,
            }
        }
        for name in names.split_whitespace() {
            table.entry(name).or_default().extend(overloads.iter().cloned());
        }
    }
    table
}

fn read_overload(text: &str) -> Overload {
    let known = |name| parameter(name).unwrap_or_else(|| panic!("{name} is no type"));
    let parts = text.strip_prefix('(').and_then(|text| text.split_once(')'));
    let (arguments, result) = parts.unwrap_or_else(|| panic!("{text} is no signature"));
    Overload {
        arguments: arguments.split_whitespace().map(known).collect(),
        result: known(result.trim()),
    }
}

fn parameter(name: &str) -> Option<Parameter> {
    let polymorphic = POLYMORPHIC.iter().find(|(of, _)| *of == name);
    polymorphic
        .map(|(_, parameter)| *parameter)
        .or_else(|| kind(name).map(Parameter::Is))
}

/// Returns a type by PostgreSQL's short name.
fn kind(name: &str) -> Option<Kind> {
    match name.strip_suffix("[]") {
        Some(element) => kind(element).map(Kind::array),
        None if name == "jsonpath" => Some(Kind::JsonPath),
        None => Kind::scalars()
            .iter()
            .copied()
            .find(|kind| kind.short_name() == name),
    }
}
