//! Temporary relations: in a schema of the session's own, which is made with the first of them and dropped with the session.
//!
//! Names without a schema are looked up there first. The schema is marked as unfinished for as long as it is there, so what a crash leaves
//! of it is dropped when the database is opened again.

use std::sync::Arc;
use std::time::Duration;

use rukh_catalog::{Schema, TableId};
use rukh_engine::{DefinitionChanges, Patience};
use rukh_error::SqlError;
use rukh_syntax::{Name, ObjectName, OnCommit, SchemaStatement, Statement, quoted};

use crate::bind::spelling::parsing::parse;
use crate::sql::session::Session;
use crate::sql::{ddl, dml};

impl Session {
    /// Makes the session's schema, if a statement makes something in it.
    pub(crate) fn begin_temporary(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let name = match statement {
            Statement::CreateTable(table) => &table.name,
            Statement::CreateView(view) => &view.name,
            Statement::CreateSequence { name, .. } => name,
            _ => return Ok(()),
        };
        let own = self.settings.temporary_schema.clone();
        if name.schema.as_deref() != Some(&*own) {
            return Ok(());
        }
        let schema = Schema {
            filling: true,
            ..Schema::new(&own)
        };
        self.engine().clone().change_definitions(|catalog| {
            let schemas = match catalog.has_schema(&own) {
                true => Vec::new(),
                false => vec![schema],
            };
            Ok::<_, SqlError>(DefinitionChanges {
                schemas,
                ..DefinitionChanges::default()
            })
        })?;
        Ok(())
    }

    /// Notes what COMMIT does with a new table.
    pub(crate) fn note_on_commit(&mut self, table: TableId, on_commit: OnCommit) {
        if on_commit != OnCommit::PreserveRows {
            self.on_commits.push((table, on_commit));
        }
    }

    /// Does with temporary tables what COMMIT does, in the transaction that it ends.
    pub(crate) fn commit_temporary(&mut self) -> Result<(), SqlError> {
        if self.on_commits.is_empty() {
            return Ok(());
        }
        let catalog = self.engine().catalog();
        self.on_commits.retain(|(id, _)| catalog.table(*id).is_some());
        let (mut emptied, mut dropped) = (Vec::new(), Vec::new());
        for (id, on_commit) in &self.on_commits {
            let Some(table) = catalog.table(*id) else { continue };
            match on_commit {
                OnCommit::PreserveRows => {}
                OnCommit::DeleteRows => {
                    emptied.push(format!("{}.{}", quoted(&table.schema), quoted(&table.name)));
                }
                OnCommit::Drop => dropped.push(ObjectName {
                    schema: Some(table.schema.clone()),
                    name: table.name.clone(),
                    position: 1,
                }),
            }
        }
        for name in emptied {
            if let Statement::Delete(delete) = parse(&format!("DELETE FROM {name}"))? {
                dml::delete(self, &delete, &[])?;
            }
        }
        if !dropped.is_empty() {
            let drop = Statement::DropTable {
                names: dropped,
                if_exists: true,
                cascade: true,
            };
            let _turn = self.begin_definition(&drop)?;
            self.run_in_silence(&drop)?;
        }
        Ok(())
    }

    /// Drops the session's temporary relations.
    pub(crate) fn discard_temporary(&mut self) -> Result<(), SqlError> {
        self.on_commits.clear();
        let own = self.settings.temporary_schema.to_string();
        match self.engine().catalog().has_schema(&own) {
            true => {
                let drop = drop_of(&[own]);
                let _turn = self.begin_definition(&drop)?;
                self.run_in_silence(&drop)
            }
            false => Ok(()),
        }
    }

    /// Runs a statement that defines something, without its messages.
    fn run_in_silence(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let notices = self.take_notices();
        let done = ddl::run(self, statement);
        self.take_notices();
        notices.into_iter().for_each(|notice| self.notice(notice));
        done.map(|_| ())
    }

    /// Drops what is temporary at the end of the session. Where a transaction of another session keeps definitions from being changed, the
    /// next session that ends does it.
    pub(crate) fn end_temporary(&mut self) {
        let left = self.shared.ended_schemas();
        let own = self.settings.temporary_schema.to_string();
        let has_own = self.engine().catalog().has_schema(&own);
        if !has_own && left.lock().is_empty() {
            return;
        }
        let mut names = std::mem::take(&mut *left.lock());
        if has_own {
            names.push(own);
        }
        let at_once = Patience {
            timeout: Some(Duration::from_millis(1)),
            cancelled: Arc::new(|| false),
        };
        let dropped = match self.engine().wait_for_definitions(&at_once) {
            Ok(_turn) => self.run_in_silence(&drop_of(&names)).is_ok(),
            Err(_) => false,
        };
        if !dropped {
            left.lock().extend(names);
        }
    }
}

/// Returns the statement that drops schemas with what they hold.
fn drop_of(names: &[String]) -> Statement {
    let name = |text: &String| Name {
        text: text.clone(),
        position: 1,
    };
    Statement::Schema(Box::new(SchemaStatement::Drop {
        names: names.iter().map(name).collect(),
        if_exists: true,
        cascade: true,
    }))
}
