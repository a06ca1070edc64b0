//! Transactions and savepoints.

use arrow_flight::Action;
use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionEndSavepointRequest, Any, EndTransaction,
    ProstMessageExt,
};
use bytes::Bytes;
use futures::TryStreamExt;
use prost::Message;
use tonic::Code;

use crate::ends::wait_until_nothing_runs;
use crate::{Client, error, failure, fetch, lines, rows, served};

async fn within(
    client: &mut Client,
    transaction: &Bytes,
    sql: &str,
) -> arrow_flight::error::Result<Vec<String>> {
    let info = client.execute(sql.to_string(), Some(transaction.clone())).await?;
    fetch(client, info).await.map(|batches| lines(&batches))
}

#[test]
fn changes_are_seen_when_they_are_committed() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        for (end, left) in [(EndTransaction::Rollback, "0"), (EndTransaction::Commit, "2")] {
            let transaction = client.begin_transaction().await.expect("it begins");
            let inserted = within(&mut client, &transaction, "INSERT INTO t VALUES (1), (2)").await;
            inserted.expect("it runs");
            let mine = within(&mut client, &transaction, "SELECT count(*) FROM t").await;
            assert_eq!(mine.expect("it runs"), ["2"]);
            let outside = rows(&mut client, "SELECT count(*) FROM t").await;
            assert_eq!(outside.expect("it runs"), ["0"]);
            let ended = client.end_transaction(transaction.clone(), end).await;
            ended.expect("it ends");
            let outside = rows(&mut client, "SELECT count(*) FROM t").await;
            assert_eq!(outside.expect("it runs"), [left]);
            let over = within(&mut client, &transaction, "SELECT 1").await;
            assert_eq!(failure(over), error(Code::FailedPrecondition, "25000"));
        }
    });
}

#[test]
fn the_first_to_commit_wins() {
    served().run(|run| async move {
        run.execute(&[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 0)",
        ]);
        let mut client = run.client().await;
        let one = client.begin_transaction().await.expect("it begins");
        let two = client.begin_transaction().await.expect("it begins");
        for transaction in [&one, &two] {
            let updated = within(&mut client, transaction, "UPDATE t SET v = v + 1").await;
            updated.expect("it runs");
        }
        let ended = client.end_transaction(two, EndTransaction::Commit).await;
        ended.expect("it is the first");
        let ended = client.end_transaction(one, EndTransaction::Commit).await;
        assert_eq!(failure(ended), error(Code::Aborted, "40001"));
        assert_eq!(
            rows(&mut client, "SELECT v FROM t").await.expect("it runs"),
            ["1"]
        );
    });
}

/// A client that has seen enough of a result has cancelled nothing: drivers close a cursor behind its first row.
#[test]
fn who_leaves_a_result_goes_on_with_the_transaction() {
    served().run(|run| async move {
        run.execute(&[
            "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
            "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 60000) AS s(g)",
        ]);
        let mut client = run.client().await;
        let transaction = client.begin_transaction().await.expect("it begins");
        for turn in 0..40 {
            let sql = match turn % 2 {
                0 => "SELECT count(*) FROM t",
                _ => "SELECT * FROM t",
            };
            let info = client.execute(sql.to_string(), Some(transaction.clone())).await;
            let ticket = info.expect("it runs").endpoint[0].ticket.clone();
            let mut batches = client
                .do_get(ticket.expect("it has a ticket"))
                .await
                .expect("it runs");
            let first = batches.try_next().await.expect("it has rows");
            assert!(first.is_some_and(|batch| batch.num_rows() > 0));
            drop(batches);
            // So that the server hears of it before the next statement.
            wait_until_nothing_runs(&run).await;
            let sql = format!("UPDATE t SET v = '{turn}' WHERE id = 1");
            let updated = within(&mut client, &transaction, &sql).await;
            updated.unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        }
        let ended = client.end_transaction(transaction, EndTransaction::Commit).await;
        ended.expect("it ends");
        let left = rows(&mut client, "SELECT v FROM t WHERE id = 1").await;
        assert_eq!(left.expect("it runs"), ["39"]);
    });
}

#[test]
fn an_aborted_transaction_is_not_committed() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        let transaction = client.begin_transaction().await.expect("it begins");
        let inserted = within(&mut client, &transaction, "INSERT INTO t VALUES (1)").await;
        inserted.expect("it runs");
        let failed = within(&mut client, &transaction, "INSERT INTO t VALUES (1)").await;
        assert_eq!(failure(failed), error(Code::AlreadyExists, "23505"));
        let later = within(&mut client, &transaction, "SELECT 1").await;
        assert_eq!(failure(later), error(Code::FailedPrecondition, "25P02"));
        let ended = client.end_transaction(transaction, EndTransaction::Commit).await;
        assert_eq!(failure(ended), error(Code::FailedPrecondition, "25P02"));
        assert!(
            rows(&mut client, "SELECT * FROM t")
                .await
                .expect("it runs")
                .is_empty()
        );
    });
}

#[test]
fn savepoints_are_rolled_back_to_and_released() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        let transaction = client.begin_transaction().await.expect("it begins");
        let insert = async |client: &mut Client, id: i32| {
            let inserted = within(client, &transaction, &format!("INSERT INTO t VALUES ({id})")).await;
            inserted.expect("it runs");
        };
        insert(&mut client, 1).await;
        let begin = ActionBeginSavepointRequest {
            transaction_id: transaction.clone(),
            name: "a \"b\"".to_string(),
        };
        let body = begin.as_any().encode_to_vec();
        let answers = client.do_action(Action::new("BeginSavepoint", body)).await;
        let answers: Vec<_> = answers
            .expect("it begins")
            .try_collect()
            .await
            .expect("it is answered");
        let any = Any::decode(&*answers[0].body).expect("it is a message");
        let begun: ActionBeginSavepointResult = any.unpack().expect("it is one").expect("of this kind");
        insert(&mut client, 2).await;
        for (action, left) in [(2, vec!["1"]), (1, vec!["1", "3"])] {
            if action == 1 {
                insert(&mut client, 3).await;
            }
            let end = ActionEndSavepointRequest {
                savepoint_id: begun.savepoint_id.clone(),
                action,
            };
            let body = end.as_any().encode_to_vec();
            let answers = client.do_action(Action::new("EndSavepoint", body)).await;
            let answers: Result<Vec<_>, _> = answers.expect("it ends").try_collect().await;
            assert_eq!(answers.expect("it is answered"), []);
            let mine = within(&mut client, &transaction, "SELECT id FROM t ORDER BY id").await;
            assert_eq!(mine.expect("it runs"), left);
        }
        let ended = client
            .end_transaction(transaction.clone(), EndTransaction::Commit)
            .await;
        ended.expect("it is committed");
        assert_eq!(
            rows(&mut client, "SELECT id FROM t ORDER BY id")
                .await
                .expect("it runs"),
            ["1", "3"]
        );
    });
}
