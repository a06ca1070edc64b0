//! Commands of operation: `backup`, `backups`, `restore`, `repair`, `compact`, `stats`.
//!
//! Each is a statement of SQL, run on a database that no other process has open for writing; where a process
//! has it open, that process runs the statement. Only a restore has no database yet.

use std::fs;
use std::path::{Path, PathBuf};

use rukh::Backups;

use crate::base::error::{CliError, Exit};
use crate::base::output;
use crate::programs::check;
use crate::programs::run::{self, Access};

/// Whether a restored database is opened and checked before it gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Every table is compared with its indexes.
    Check,
    /// Only the checksums of the files are compared.
    Checksums,
}

/// Adds a backup of the database at `directory` to those in `target`.
pub fn backup(directory: &Path, target: &Path, keep: Option<u32>) -> Exit {
    let keep = keep.map(|keep| format!(" KEEP {keep}")).unwrap_or_default();
    let sql = format!("BACKUP DATABASE TO {}{keep}", quoted(target));
    run::with_session(directory, Access::Existing, |session| session.run_statement(&sql))
}

/// Lists the backups in `target`, after all but the newest were removed, and after the files of all were
/// compared with their checksums where `verify` is set.
pub fn backups(target: &Path, keep: Option<u32>, verify: bool) -> Exit {
    let sql = format!("SHOW BACKUPS IN {}", quoted(target));
    run::with_session(Path::new(":memory:"), Access::Write, |session| {
        let backups = Backups::open(target).map_err(|error| CliError::statement("", error))?;
        if let Some(keep) = keep {
            let kept = backups.keep(keep as usize);
            kept.map_err(|error| CliError::statement("", error))?;
        }
        for backup in backups.list().into_iter().filter(|_| verify) {
            let verified = backups.verify(backup.id);
            verified.map_err(|error| CliError::statement("", error))?;
        }
        drop(backups);
        session.run_statement(&sql)
    })
}

/// Writes the database of a backup into `directory`, which must be empty or not there.
///
/// Until it is complete, and proven, it has `.restoring` behind its name.
pub fn restore(target: &Path, directory: &Path, id: Option<u32>, proof: Proof) -> Exit {
    match restored(target, directory, id, proof) {
        Ok(exit) => exit,
        Err(error) => run::give_up(&error),
    }
}

fn restored(target: &Path, directory: &Path, id: Option<u32>, proof: Proof) -> Result<Exit, CliError> {
    if fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!("directory \"{}\" is not empty", directory.display());
        return Err(CliError::command(message));
    }
    let mut partial = directory.as_os_str().to_owned();
    partial.push(".restoring");
    let partial = PathBuf::from(partial);
    let backups = Backups::open(target).map_err(|error| CliError::statement("", error))?;
    let backup = backups
        .restore(id, &partial)
        .map_err(|error| CliError::statement("", error))?;
    if proof == Proof::Check {
        let exit = check::run(&partial, &[]);
        if exit != Exit::Success {
            output::complain(&format!(
                "backup {} was restored to \"{}\", but is not sound\n",
                backup.id,
                partial.display()
            ));
            return Ok(exit);
        }
    }
    let renamed = fs::rename(&partial, directory);
    renamed.map_err(|error| CliError::write(&format!("directory \"{}\"", directory.display()), error))?;
    let text = format!(
        "backup {}, {} bytes in {} files, restored to \"{}\"\n",
        backup.id,
        backup.bytes,
        backup.files,
        directory.display()
    );
    output::tell(&text)?;
    Ok(Exit::Success)
}

/// Writes what can be read of the database at `directory` into a new one at `target`, and reports what became of each table.
pub fn repair(directory: &Path, target: &Path) -> Exit {
    match repaired(directory, target) {
        Ok(exit) => exit,
        Err(error) => run::give_up(&error),
    }
}

fn repaired(directory: &Path, target: &Path) -> Result<Exit, CliError> {
    let repair = rukh::repair(directory, target).map_err(|error| CliError::statement("", error))?;
    output::tell(&repair.to_string())?;
    Ok(match repair.is_whole() {
        true => Exit::Success,
        false => Exit::Failed,
    })
}

/// Compacts tables, as written in SQL, or all.
pub fn compact(directory: &Path, tables: &[String]) -> Exit {
    run::with_session(directory, Access::Existing, |session| match tables {
        [] => session.run_statement("COMPACT"),
        tables => tables
            .iter()
            .try_for_each(|table| session.run_statement(&format!("COMPACT TABLE {table}"))),
    })
}

/// Shows what tables, as written in SQL, or all of them and the database take up.
pub fn stats(directory: &Path, tables: &[String]) -> Exit {
    run::with_session(directory, Access::Read, |session| match tables {
        [] => {
            session.run_statement("SHOW STATS")?;
            session.run_statement("SHOW DATABASE STATS")
        }
        tables => tables
            .iter()
            .try_for_each(|table| session.run_statement(&format!("SHOW STATS FROM {table}"))),
    })
}

/// Returns a path as a string of SQL.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "''"))
}
