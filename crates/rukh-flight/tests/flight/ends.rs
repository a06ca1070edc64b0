//! Queries that are cancelled by their ticket, and transactions that wait for too long.

use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus};
use futures::TryStreamExt;
use prost::Message;
use tonic::Code;

use crate::{Client, error, fetch, rows, served, told};

/// Asks for the end of what a ticket has begun; tells whether there was anything to end.
async fn cancel(client: &mut Client, request: &CancelFlightInfoRequest) -> bool {
    let action = Action::new("CancelFlightInfo", request.encode_to_vec());
    let answers = client.do_action(action).await.expect("it can be asked");
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
        let running = tokio::spawn(async move { told(fetch(&mut client, info).await.map(drop)) });
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
            let mut found = watcher.query(count).expect("it can be asked");
            let row = found.next_row().expect("it is answered").expect("there is a row");
            if row.get::<i64>(0).expect("it is a number") == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(inserted);
        let late = client.execute_update(insert.to_string(), Some(transaction)).await;
        assert_eq!(told(late.map(drop)), error(Code::FailedPrecondition, "25000"));
        let left = rows(&mut client, "SELECT count(*) FROM t").await;
        assert_eq!(left.expect("it runs"), ["0"]);
    });
}
