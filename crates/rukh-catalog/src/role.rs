//! Roles: which may log in, what they own, and what they may do with the rest.
//!
//! | field       | says                                                                                  |
//! |-------------|---------------------------------------------------------------------------------------|
//! | `superuser` | may do everything                                                                     |
//! | `verifier`  | how a password is checked, `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`; never the password |
//! | `owns`      | objects that are the role's: it may do everything with them, and give rights away     |
//! | `grants`    | rights on what is not                                                                 |
//! | `member_of` | roles whose rights it has, too, and those of the roles that they are members of         |
//!
//! The role with the id 0 is `public`: its grants are every role's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Catalog, ColumnId, FunctionId, SchemaId, SequenceId, TableId, TypeId, ViewId};

/// Identifies a role for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoleId(pub u32);

impl RoleId {
    /// The role `public`.
    pub const PUBLIC: RoleId = RoleId(0);
}

/// A role: a user, or a name that owns things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Identity.
    pub id: RoleId,
    /// Name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether clients may connect as it.
    pub login: bool,
    /// What a password is checked by; without it the role cannot log in.
    pub verifier: Option<String>,
    /// Until when the password holds, microseconds since 1970-01-01; for ever unless it is said.
    pub valid_until: Option<i64>,
    /// Ids of tables, views and sequences.
    pub owns: BTreeSet<u32>,
    /// Rights, each target at most once.
    pub grants: Vec<Grant>,
    /// Roles that it is a member of, each at most once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_of: Vec<Membership>,
    /// Whether it has the rights of roles only after SET ROLE.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_inherit: bool,
}

/// That a role is a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The other.
    pub role: RoleId,
    /// Whether it may make others members.
    pub admin: bool,
}

/// Rights on something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What may be worked with.
    pub on: GrantTarget,
    /// What may be done.
    pub rights: Rights,
}

/// What rights are granted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantTarget {
    /// Everything that there is and will be.
    Database,
    /// Everything that there is and will be in a schema.
    Schema(String),
    /// A table, view or sequence, by its id.
    Object(u32),
    /// A column of a table or view.
    Column {
        /// Id of the table or view.
        object: u32,
        /// Id of a table's column, place of a view's.
        column: u32,
    },
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights(u16);

impl Rights {
    /// None.
    pub const NONE: Rights = Rights(0);
    /// Read rows.
    pub const SELECT: Rights = Rights(1);
    /// Add rows.
    pub const INSERT: Rights = Rights(1 << 1);
    /// Change rows.
    pub const UPDATE: Rights = Rights(1 << 2);
    /// Remove rows.
    pub const DELETE: Rights = Rights(1 << 3);
    /// Remove all rows at once.
    pub const TRUNCATE: Rights = Rights(1 << 4);
    /// Take numbers of a sequence, see what a schema has.
    pub const USAGE: Rights = Rights(1 << 5);
    /// Make tables, views and sequences in a schema.
    pub const CREATE: Rights = Rights(1 << 6);
    /// Alter, index, analyze and drop, as an owner does.
    pub const DDL: Rights = Rights(1 << 7);
    /// Change rows in any way.
    pub const WRITE: Rights = Rights(0b11110);
    /// Those that columns have.
    pub const OF_COLUMNS: Rights = Rights(0b111);
    /// All of them.
    pub const ALL: Rights = Rights(0xff);

    /// Each right with its name in GRANT.
    pub const NAMED: [(&'static str, Rights); 8] = [
        ("select", Rights::SELECT),
        ("insert", Rights::INSERT),
        ("update", Rights::UPDATE),
        ("delete", Rights::DELETE),
        ("truncate", Rights::TRUNCATE),
        ("usage", Rights::USAGE),
        ("create", Rights::CREATE),
        ("ddl", Rights::DDL),
    ];

    /// Returns the rights of both.
    #[must_use]
    pub const fn with(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// Returns these without those of the other.
    #[must_use]
    pub fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    /// Returns those that are in both.
    #[must_use]
    pub fn common(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Returns whether all of the other are among these.
    pub fn contain(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Role {
    /// Makes a role that has and may nothing.
    pub fn new(name: &str) -> Self {
        Role {
            id: RoleId(0),
            name: name.to_string(),
            superuser: false,
            login: false,
            verifier: None,
            valid_until: None,
            owns: BTreeSet::new(),
            grants: Vec::new(),
            member_of: Vec::new(),
            no_inherit: false,
        }
    }

    /// Makes the role `public`.
    pub fn public() -> Self {
        Role::new("public")
    }

    /// Returns the rights granted on just this.
    pub fn granted(&self, on: &GrantTarget) -> Rights {
        let grant = self.grants.iter().find(|grant| grant.on == *on);
        grant.map_or(Rights::NONE, |grant| grant.rights)
    }

    /// Sets the rights granted on just this.
    pub fn set_granted(&mut self, on: GrantTarget, rights: Rights) {
        self.grants.retain(|grant| grant.on != on);
        if !rights.is_empty() {
            self.grants.push(Grant { on, rights });
        }
    }

    /// Takes rights on a table or view from each of its columns.
    pub fn revoke_on_columns(&mut self, object: u32, rights: Rights) {
        let is_meant =
            |on: &GrantTarget| matches!(on, GrantTarget::Column { object: of, .. } if *of == object);
        for grant in self.grants.iter_mut().filter(|grant| is_meant(&grant.on)) {
            grant.rights = grant.rights.without(rights);
        }
        self.grants.retain(|grant| !grant.rights.is_empty());
    }

    /// Forgets what the catalog does not have any more.
    pub fn prune(&mut self, catalog: &Catalog) {
        let is_there = |id: u32| {
            catalog.table(TableId(id)).is_some()
                || catalog.sequence(SequenceId(id)).is_some()
                || catalog.views().any(|view| view.id == ViewId(id))
                || catalog.schemas().any(|schema| schema.id == SchemaId(id))
                || catalog.types().any(|ty| ty.id() == TypeId(id))
                || catalog.functions().any(|function| function.id == FunctionId(id))
        };
        self.owns.retain(|id| is_there(*id));
        self.member_of.retain(|of| catalog.role(of.role).is_some());
        self.grants.retain(|grant| match grant.on {
            GrantTarget::Object(id) => is_there(id),
            GrantTarget::Column { object, column } => match catalog.table(TableId(object)) {
                Some(table) => table.column(ColumnId(column)).is_some(),
                None => is_there(object),
            },
            GrantTarget::Schema(_) | GrantTarget::Database => true,
        });
    }
}
