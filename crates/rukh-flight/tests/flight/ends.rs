//! Queries that are cancelled by their ticket, and transactions that wait for too long.

use std::sync::Arc;

use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandStatementIngest, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use arrow_flight::{Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus};
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use rukh::arrow::array::{Int32Array, RecordBatch};
use tonic::Code;

use crate::{Client, error, failure, fetch, rows, served};

/// Asks for the end of what a ticket has begun; returns whether there was anything to end.
async fn cancel(client: &mut Client, request: &CancelFlightInfoRequest) -> bool {
    let action = Action::new("CancelFlightInfo", request.encode_to_vec());
    let answers = client.do_action(action).await.expect("it runs");
    let answers: Vec<_> = answers.try_collect().await.expect("it is answered");
    let result = CancelFlightInfoResult::decode(answers[0].body.clone());
    result.expect("it is understood").status() == CancelStatus::Cancelled
}

#[test]
fn a_query_is_cancelled_by_its_ticket() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id BIGINT PRIMARY KEY)"]);
        run.execute(&["INSERT INTO t SELECT n FROM generate_series(1, 3000) AS s(n)"]);
        let mut client = run.client().await;
        let slow = "SELECT count(*) FROM t a, t b, t c WHERE a.id + b.id * c.id = 7";
        let info = client.execute(slow.to_string(), None).await;
        let info = info.expect("it is understood");
        let request = CancelFlightInfoRequest::new(info.clone());
        // The session is that of the connection, which both have in common.
        let mut other = FlightSqlServiceClient::new_from_inner(client.inner().clone());
        let running = tokio::spawn(async move { failure(fetch(&mut client, info).await.map(drop)) });
        while !cancel(&mut other, &request).await {
            tokio::task::yield_now().await;
        }
        let end = running.await.expect("the client goes on");
        assert_eq!(end, error(Code::Cancelled, "57014"));
        // What is over is over, and the session is there.
        assert!(!cancel(&mut other, &request).await);
        assert_eq!(rows(&mut other, "SELECT 1").await.expect("it runs"), ["1"]);
    });
}

#[test]
fn a_transaction_that_waits_too_long_is_rolled_back() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        let set = "SET idle_in_transaction_session_timeout = '20ms'";
        client
            .execute_update(set.to_string(), None)
            .await
            .expect("it is set");
        let transaction = client.begin_transaction().await.expect("it begins");
        let insert = "INSERT INTO t VALUES (1)";
        // The first statement may come too late already.
        let inserted = client
            .execute_update(insert.to_string(), Some(transaction.clone()))
            .await;
        let mut watcher = run.database.connect();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'";
        loop {
            let mut found = watcher.query(count).expect("it runs");
            let row = found.next_row().expect("it is answered").expect("there is a row");
            if row.get::<i64>(0).expect("it is a number") == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(inserted);
        let late = client.execute_update(insert.to_string(), Some(transaction)).await;
        assert_eq!(failure(late.map(drop)), error(Code::FailedPrecondition, "25000"));
        let left = rows(&mut client, "SELECT count(*) FROM t").await;
        assert_eq!(left.expect("it runs"), ["0"]);
    });
}

/// Far more rows than the connection holds for a client that does not read.
const MANY: &str =
    "SELECT value, 'some text to fill the line' FROM generate_series(1, 100000000) AS t(value)";

/// Waits until no session but the watcher's runs anything.
pub(crate) async fn wait_until_nothing_runs(run: &crate::Run) {
    let mut watcher = run.database.connect();
    let count = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'";
    loop {
        let mut found = watcher.query(count).expect("it runs");
        let row = found.next_row().expect("it is answered").expect("there is a row");
        if row.get::<i64>(0).expect("it is a number") == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_result_that_nobody_reads_ends_in_time() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let set = "SET statement_timeout = '300ms'".to_string();
        client.execute_update(set, None).await.expect("it is set");
        let info = client.execute(MANY.to_string(), None).await;
        let ticket = info.expect("it is understood").endpoint[0].ticket.clone();
        let batches = client.do_get(ticket.expect("it has a ticket")).await;
        wait_until_nothing_runs(&run).await;
        // A client that reads on finds whole batches, then why there are no more.
        let end = batches.expect("it begins").try_collect::<Vec<_>>().await;
        assert_eq!(failure(end.map(drop)), error(Code::Cancelled, "57014"));
        assert_eq!(rows(&mut client, "SELECT 1").await.expect("it runs"), ["1"]);
    });
}

#[test]
fn who_does_not_read_can_be_sent_away() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let info = client.execute(MANY.to_string(), None).await;
        let ticket = info.expect("it is understood").endpoint[0].ticket.clone();
        let batches = client.do_get(ticket.expect("it has a ticket")).await;
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active'";
        let ended = run.database.connect().query(end).map(|rows| rows.count());
        assert_eq!(ended.expect("it runs"), 1);
        wait_until_nothing_runs(&run).await;
        let end = batches.expect("it begins").try_collect::<Vec<_>>().await;
        assert_eq!(failure(end.map(drop)), error(Code::Cancelled, "57014"));
    });
}

#[test]
fn a_transaction_that_nobody_reads_ends_in_time() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let set = "SET transaction_timeout = '300ms'".to_string();
        client.execute_update(set, None).await.expect("it is set");
        let transaction = client.begin_transaction().await.expect("it begins");
        let info = client.execute(MANY.to_string(), Some(transaction)).await;
        let ticket = info.expect("it is understood").endpoint[0].ticket.clone();
        let batches = client.do_get(ticket.expect("it has a ticket")).await;
        wait_until_nothing_runs(&run).await;
        let end = batches.expect("it begins").try_collect::<Vec<_>>().await;
        assert_eq!(failure(end.map(drop)), error(Code::Cancelled, "57014"));
    });
}

#[test]
fn a_load_whose_client_sends_nothing_ends_in_time() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        let set = "SET statement_timeout = '300ms'".to_string();
        client.execute_update(set, None).await.expect("it is set");
        let command = CommandStatementIngest {
            table: "t".to_string(),
            table_definition_options: Some(TableDefinitionOptions {
                if_exists: TableExistsOption::Append as i32,
                if_not_exist: TableNotExistOption::Fail as i32,
            }),
            ..CommandStatementIngest::default()
        };
        let ids = Int32Array::from_iter_values(0..10);
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _)]);
        // Ten rows, then nothing for ever.
        let first = futures::stream::iter([Ok(batch.expect("there is a column"))]);
        let rows_to_come = first.chain(futures::stream::pending());
        let ended = failure(client.execute_ingest(command, rows_to_come).await.map(drop));
        assert_eq!(ended, error(Code::Cancelled, "57014"));
        assert_eq!(
            rows(&mut client, "SELECT count(*) FROM t")
                .await
                .expect("it runs"),
            ["0"]
        );
    });
}
