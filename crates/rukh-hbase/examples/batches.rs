//! Many rows in one call to each server, each under a condition of its own:
//! `cargo run -p rukh-hbase --example batches -- hbase://127.0.0.1:PORT/default`

use bytes::Bytes;
use rukh_hbase::{
    CellKind, CheckAndMutate, Client, Error, Family, Get, LATEST, Mutation, RowRequest, Settings,
};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "hbase://127.0.0.1:16000".to_string());
    let client = Client::new(&url, Settings::default())?;
    let cuts = vec![Bytes::from_static(b"seat3"), Bytes::from_static(b"seat6")];
    client
        .create_table("seats", &[Family::new("d", &[("VERSIONS", "1")])], cuts)
        .await?;

    // Each seat goes to the first that wants it: the condition and the change are one step on the server.
    let book = |seat: u32, name: &'static str| {
        let row = format!("seat{seat}");
        let put = Mutation::put(row.clone()).cell(CellKind::Put, "d", "name", LATEST, name);
        let change = CheckAndMutate::if_absent(row, "d", "name", 0, LATEST).then(put);
        RowRequest::check_and_mutate("seats", change)
    };
    for (name, seats) in [("Ada", 0..6), ("Grace", 4..9)] {
        let outcomes = client.batch(seats.map(|seat| book(seat, name)).collect()).await;
        let mut booked = 0;
        for outcome in outcomes {
            booked += usize::from(outcome?.processed);
        }
        println!("{name} has {booked} seats");
    }

    let reads = (0..9).map(|seat| RowRequest::get("seats", Get::new(format!("seat{seat}"))));
    let mut names = Vec::new();
    for found in client.batch(reads.collect()).await {
        let name = found?.row.value(b"d", b"name").cloned().unwrap_or_default();
        names.push(String::from_utf8_lossy(&name).into_owned());
    }
    assert_eq!(names.join(" "), "Ada Ada Ada Ada Ada Ada Grace Grace Grace");
    client.disable_table("seats").await?;
    client.delete_table("seats").await
}
