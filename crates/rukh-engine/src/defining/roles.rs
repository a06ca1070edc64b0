//! Roles: definitions that concern no rows.

use crate::EngineError;
use crate::forms::stored;
use crate::state::shared::Engine;
use rukh_catalog::{Catalog, Role, RoleId};
use rukh_kv::WriteBatch;

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
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let catalog = inner.definitions().catalog.clone();
        let changes = change(&catalog)?;
        let mut batch = WriteBatch::new();
        let mut next = (*catalog).clone();
        for id in changes.removed {
            stored::delete_role(&mut batch, id);
            next = next.without_role(id);
        }
        let public = Role::public().name;
        let mut id = stored::next_id(inner.store.as_ref())?;
        for mut role in changes.put {
            if role.id == RoleId::PUBLIC && role.name != public {
                role.id = RoleId(id);
                id += 1;
                stored::put_next_id(&mut batch, id);
            }
            role.prune(&catalog);
            stored::put_role(&mut batch, &role);
            next = next.with_role(role);
        }
        Ok(inner.commit_definitions(batch, next)?)
    }
}
