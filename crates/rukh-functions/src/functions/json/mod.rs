//! Functions and operators of JSON and JSONB.
//!
//! | file     | has                                                                              |
//! |----------|----------------------------------------------------------------------------------|
//! | `access` | `->`, `->>`, `#>`, `#>>`: vectorised, they read the member alone                   |
//! | `ask`    | `@>`, `?`, `jsonb_typeof`, `jsonb_array_length`, `jsonb_pretty`, … by row          |
//! | `change` | `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`, `jsonb_strip_nulls`, by row           |
//! | `expand` | the arrays that `jsonb_each`, `jsonb_array_elements` and their kin take apart       |
//! | `jsonpath` | the language of paths                                                            |
//! | `make`   | values as documents: `to_jsonb`, `json_build_object`, …                            |
//! | `objects` | `json_object` of texts, by row                                                     |
//! | `path`   | `@?`, `@@`, `jsonb_path_query` and its kin                                         |
//! | `order`  | the bytes by which documents compare                                             |

pub mod access;
pub mod ask;
pub mod change;
pub mod expand;
mod jsonpath;
pub mod make;
pub mod objects;
pub mod order;
pub mod path;
mod values;
