//! Bulk ingest.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_flight::sql::{
    CommandStatementIngest, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use rukh::arrow::array::{Int64Array, RecordBatch, StringArray};
use tonic::Code;

use crate::{Client, error, failure, rows, served};

fn command(table: &str, missing: TableNotExistOption, there: TableExistsOption) -> CommandStatementIngest {
    CommandStatementIngest {
        table: table.to_string(),
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: missing as i32,
            if_exists: there as i32,
        }),
        ..CommandStatementIngest::default()
    }
}

fn batch(from: i64, count: i64) -> RecordBatch {
    let ids = Int64Array::from_iter_values(from..from + count);
    let names = StringArray::from_iter((from..from + count).map(|id| (id % 7 > 0).then(|| format!("n{id}"))));
    RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("Name", Arc::new(names) as _)])
        .expect("columns are of one length")
}

async fn load(
    client: &mut Client,
    command: CommandStatementIngest,
    batches: Vec<RecordBatch>,
) -> arrow_flight::error::Result<i64> {
    let stream = futures::stream::iter(batches.into_iter().map(Ok));
    client.execute_ingest(command, stream).await
}

#[test]
fn tables_are_made_appended_to_and_replaced() {
    use TableExistsOption as There;
    use TableNotExistOption as Missing;
    served().run(|run| async move {
        let mut client = run.client().await;
        let create = command("t", Missing::Create, There::Fail);
        // More than what a batch of the engine holds: they go by sorted files.
        let many = (0..4).map(|n| batch(n * 5_000, 5_000)).collect();
        assert_eq!(load(&mut client, create.clone(), many).await.ok(), Some(20_000));
        let again = load(&mut client, create, vec![batch(0, 1)]).await;
        assert_eq!(failure(again.map(drop)), error(Code::AlreadyExists, "42P07"));
        let append = command("t", Missing::Fail, There::Append);
        assert_eq!(
            load(&mut client, append.clone(), vec![batch(20_000, 5)])
                .await
                .ok(),
            Some(5)
        );
        let twice = load(&mut client, append, vec![batch(0, 3)]).await;
        assert_eq!(failure(twice.map(drop)), error(Code::AlreadyExists, "23505"));
        let counted = rows(&mut client, "SELECT count(*), count(\"Name\"), max(id) FROM t").await;
        assert_eq!(counted.expect("it runs"), ["20005, 17147, 20004"]);
        let replace = command("t", Missing::Create, There::Replace);
        assert_eq!(load(&mut client, replace, vec![batch(5, 2)]).await.ok(), Some(2));
        let left = rows(&mut client, "SELECT * FROM t").await;
        assert_eq!(left.expect("it runs"), ["5, n5", "6, n6"]);
        // If the load fails the table is as it was, and nothing else is left.
        let replace = command("t", Missing::Create, There::Replace);
        let failed = load(&mut client, replace, vec![batch(0, 3), batch(2, 3)]).await;
        assert_eq!(failure(failed.map(drop)), error(Code::AlreadyExists, "23505"));
        let left = rows(&mut client, "SELECT * FROM t").await;
        assert_eq!(left.expect("it runs"), ["5, n5", "6, n6"]);
        let tables = rows(&mut client, "SELECT count(*) FROM pg_tables").await;
        assert_eq!(tables.expect("it runs"), ["1"]);
        let missing = command("u", Missing::Fail, There::Append);
        let refused = load(&mut client, missing, vec![batch(0, 1)]).await;
        assert_eq!(failure(refused.map(drop)), error(Code::NotFound, "42P01"));
        let checked = rows(&mut client, "CHECK TABLE t")
            .await
            .expect("it can be checked");
        assert!(
            checked
                .iter()
                .all(|line| !line.contains("missing,") || line.contains(", 0")),
            "{checked:?}"
        );
    });
}

#[test]
fn a_table_whose_load_fails_is_not_made() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let mut create = command("t", TableNotExistOption::Create, TableExistsOption::Fail);
        let failed = load(&mut client, create.clone(), vec![batch(0, 3), batch(2, 3)]).await;
        assert_eq!(failure(failed.map(drop)), error(Code::AlreadyExists, "23505"));
        let gone = rows(&mut client, "SELECT * FROM t").await;
        assert_eq!(failure(gone.map(drop)), error(Code::NotFound, "42P01"));
        create.options = HashMap::from([("primary_key".to_string(), "Name,id".to_string())]);
        let loaded = load(&mut client, create.clone(), vec![batch(1, 3)]).await;
        assert_eq!(loaded.ok(), Some(3));
        create.temporary = true;
        let refused = load(&mut client, create, vec![batch(1, 3)]).await;
        assert_eq!(failure(refused.map(drop)), error(Code::Unimplemented, "0A000"));
    });
}

#[test]
fn rows_are_loaded_in_a_transaction() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id BIGINT PRIMARY KEY, \"Name\" TEXT)"]);
        let mut client = run.client().await;
        let transaction = client.begin_transaction().await.expect("it begins");
        let mut append = command("t", TableNotExistOption::Fail, TableExistsOption::Append);
        append.transaction_id = Some(transaction.clone());
        assert_eq!(load(&mut client, append, vec![batch(0, 10)]).await.ok(), Some(10));
        let outside = rows(&mut client, "SELECT count(*) FROM t").await;
        assert_eq!(outside.expect("it runs"), ["0"]);
        let ended = client
            .end_transaction(transaction, arrow_flight::sql::EndTransaction::Commit)
            .await;
        ended.expect("it is committed");
        let outside = rows(&mut client, "SELECT count(*) FROM t").await;
        assert_eq!(outside.expect("it runs"), ["10"]);
    });
}
