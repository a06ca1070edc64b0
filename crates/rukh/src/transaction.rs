//! A transaction block as a value that rolls back when it is dropped.

use std::ops::{Deref, DerefMut};

use rukh_sql::TransactionStatus;

use crate::{Connection, Error, Result};

/// A transaction on a connection; it runs statements as the connection does.
///
/// All of them see the state at the first of them, and their own changes. Dropped without
/// [`Transaction::commit`] the transaction is rolled back.
///
/// ```
/// # let database = rukh::Database::open_in_memory()?;
/// # let mut connection = database.connect();
/// # connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")?;
/// let mut transaction = connection.transaction()?;
/// transaction.execute("INSERT INTO t VALUES (1)")?;
/// transaction.execute("SAVEPOINT s")?;
/// assert!(transaction.execute("INSERT INTO t VALUES (1)").is_err());
/// transaction.execute("ROLLBACK TO s")?;
/// transaction.commit()?;
///
/// let mut transaction = connection.transaction()?;
/// transaction.execute("DELETE FROM t")?;
/// drop(transaction);
///
/// let mut rows = connection.query("SELECT id FROM t")?;
/// assert!(rows.next_row()?.is_some());
/// # Ok::<(), rukh::Error>(())
/// ```
pub struct Transaction<'c> {
    connection: &'c mut Connection,
    ended: bool,
}

impl<'c> Transaction<'c> {
    pub(crate) fn begin(connection: &'c mut Connection) -> Result<Self> {
        if connection.transaction_status() != TransactionStatus::Idle {
            let message = "there is already a transaction in progress";
            return Err(Error::statement("25001", message));
        }
        connection.execute("BEGIN")?;
        Ok(Transaction {
            connection,
            ended: false,
        })
    }

    /// Makes all changes durable and visible to others, at once.
    ///
    /// Fails with 40001 if another has changed one of the rows since, with 25P02 if a statement of
    /// this transaction has failed, and with 25P01 if one of them was COMMIT or ROLLBACK; nothing is
    /// changed then.
    pub fn commit(mut self) -> Result<()> {
        self.ended = true;
        match self.connection.transaction_status() {
            TransactionStatus::Open => self.connection.execute("COMMIT").map(drop),
            TransactionStatus::Aborted => {
                self.connection.execute("ROLLBACK")?;
                let message = "current transaction is aborted and has been rolled back";
                Err(Error::statement("25P02", message))
            }
            TransactionStatus::Idle => Err(Error::statement("25P01", "there is no transaction in progress")),
        }
    }

    /// Undoes all changes, as dropping does.
    pub fn rollback(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        match self.connection.transaction_status() {
            TransactionStatus::Idle => Ok(()),
            TransactionStatus::Open | TransactionStatus::Aborted => {
                self.connection.execute("ROLLBACK").map(drop)
            }
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // A rollback gives up memory and cannot fail.
            let _ = self.end();
        }
    }
}
