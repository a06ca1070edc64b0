//! Roles: definitions that concern no rows.

use crate::EngineError;
use crate::forms::stored;
use crate::state::shared::Engine;
use rukh_catalog::{Catalog, Role, RoleId};

/// What becomes of roles, all at once.
#[derive(Clone, Debug, Default)]
pub struct RoleChanges {
    /// Roles as they are to be; those with the id 0 that are not `public` are new, and get one.
    pub put: Vec<Role>,
    /// Roles to remove.
    pub removed: Vec<RoleId>,
}

impl Engine {
    /// Changes roles as `change` says, which is given the definitions as they are at that moment.
    ///
    /// What roles own or have rights on that is not there any more is forgotten.
    pub fn change_roles<E: From<EngineError>>(
        &self,
        change: impl FnOnce(&Catalog) -> Result<RoleChanges, E>,
    ) -> Result<(), E> {
        let under_way = self.begin_change()?;
        let catalog = under_way.definitions.catalog.clone();
        let changes = change(&catalog)?;
        let mut changed = under_way.nothing();
        for id in changes.removed {
            stored::delete_role(&mut changed.batch, id);
            changed.catalog = changed.catalog.without_role(id);
        }
        let public = Role::public().name;
        for mut role in changes.put {
            if role.id == RoleId::PUBLIC && role.name != public {
                role.id = RoleId(under_way.take_id());
            }
            role.prune(&catalog);
            stored::put_role(&mut changed.batch, &role);
            changed.catalog = changed.catalog.with_role(role);
        }
        Ok(under_way.finish(changed)?)
    }
}
