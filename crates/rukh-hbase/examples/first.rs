//! Makes a table, writes a row and reads it: `cargo run -p rukh-hbase --example first -- hbase://127.0.0.1:PORT/default`

use rukh_hbase::{CellKind, Client, Error, Family, Get, LATEST, Mutation, Settings};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "hbase://127.0.0.1:16000".to_string());
    let client = Client::new(&url, Settings::default())?;
    client
        .create_table("first", &[Family::new("d", &[])], vec![])
        .await?;
    let put = Mutation::put("row").cell(CellKind::Put, "d", "v", LATEST, "value");
    client.mutate("first", put).await?;
    let row = client.get("first", Get::new("row")).await?;
    assert_eq!(row.value(b"d", b"v").map(|value| &value[..]), Some(&b"value"[..]));
    client.disable_table("first").await?;
    client.delete_table("first").await
}
