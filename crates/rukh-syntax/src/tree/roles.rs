//! Roles and their rights.

use rukh_catalog::Rights;

use super::names::{Name, ObjectName};
use super::objects::Ownable;

/// A statement about roles.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleStatement {
    /// CREATE USER, CREATE ROLE.
    Create {
        /// The role.
        name: Name,
        /// What it is.
        options: RoleOptions,
    },
    /// ALTER USER, ALTER ROLE.
    Alter {
        /// The role.
        name: Name,
        /// What changes.
        options: RoleOptions,
    },
    /// DROP USER, DROP ROLE.
    Drop {
        /// The roles.
        names: Vec<Name>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
    },
    /// GRANT, REVOKE.
    Grant {
        /// Whether rights are given; else they are taken.
        gives: bool,
        /// The rights, those on columns apart.
        rights: Vec<GrantedRights>,
        /// On what.
        on: GrantObjects,
        /// The roles; `None` for PUBLIC.
        roles: Vec<Option<Name>>,
    },
    /// GRANT and REVOKE of roles.
    Member {
        /// Whether roles become members; else they are none any more.
        gives: bool,
        /// The roles that have members.
        roles: Vec<Name>,
        /// The members.
        members: Vec<Name>,
        /// WITH ADMIN OPTION, or ADMIN OPTION FOR.
        admin: bool,
    },
    /// ALTER … OWNER TO.
    Owner {
        /// What the object is.
        kind: Ownable,
        /// The object.
        object: ObjectName,
        /// The new owner.
        role: Name,
    },
}

/// Rights as GRANT and REVOKE have them.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedRights {
    /// The rights; `None` for all that the objects, or the columns, have.
    pub rights: Option<Rights>,
    /// The columns that they are on; none if they are on the objects as a whole.
    pub columns: Vec<Name>,
}

/// What GRANT gives rights on.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantObjects {
    /// Tables and views.
    Tables(Vec<ObjectName>),
    /// Sequences.
    Sequences(Vec<ObjectName>),
    /// All tables and views that are in schemas now.
    AllTables(Vec<Name>),
    /// All sequences that are in schemas now.
    AllSequences(Vec<Name>),
    /// Schemas, and whatever they have and will have.
    Schemas(Vec<Name>),
    /// The database, and whatever it has and will have.
    Database,
}

/// Options of a role; `None` for those not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleOptions {
    /// Whether it may do everything.
    pub superuser: Option<bool>,
    /// Whether clients may connect as it.
    pub login: Option<bool>,
    /// Whether it has the rights of the roles that it is a member of.
    pub inherit: Option<bool>,
    /// Roles that it is a member of from the beginning.
    pub in_roles: Vec<Name>,
    /// The password; within, `None` for none.
    pub password: Option<Option<Secret>>,
    /// Until when the password holds, as text, with its place.
    pub valid_until: Option<Name>,
}

/// A password: it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}
