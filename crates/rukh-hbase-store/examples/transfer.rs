//! Moves money between two accounts on a real HBase: `cargo run --example transfer -- hbase://localhost:16000/default`.

use bytes::Bytes;
use rukh_commit::{Change, Progress};
use rukh_hbase::Client;
use rukh_hbase_store::{Row, Settings, Transactions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("give the URL of a namespace")?;
    let client = Client::new(&url, rukh_hbase::Settings::default())?;
    let transactions = Transactions::open(client.clone(), Settings::default()).await?;
    if !client.tables().await?.contains(&"accounts".to_string()) {
        transactions.create_table("accounts", Vec::new()).await?;
    }
    let accounts = ["anna", "bert"].map(|name| Row::new("accounts", name));
    loop {
        let began = transactions.begin().await?;
        let values = transactions.read(&accounts, began.start).await?;
        let amount = |at: usize| -> i64 {
            let text = values[at]
                .as_ref()
                .and_then(|value| std::str::from_utf8(value).ok());
            text.and_then(|text| text.parse().ok()).unwrap_or(100)
        };
        let changed = [amount(0) - 30, amount(1) + 30];
        let put = |amount: i64| Change::Put(Bytes::from(amount.to_string()));
        let changes = accounts.iter().cloned().zip(changed.map(put)).collect();
        match transactions.commit(began, changes).await? {
            Progress::Committed(at) => {
                println!("anna has {}, bert has {} at {at}", changed[0], changed[1]);
                return Ok(());
            }
            // Another transaction was first: again, on what it has left.
            other => println!("{other:?}"),
        }
    }
}
