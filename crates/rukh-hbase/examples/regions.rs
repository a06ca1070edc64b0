//! Regions are cut, moved and merged while a table is in use:
//! `cargo run -p rukh-hbase --example regions -- hbase://127.0.0.1:PORT/default`

use rukh_hbase::{CellKind, Client, Error, Family, LATEST, Mutation, RowRequest, Scan, Settings};

async fn show(client: &Client, what: &str) -> Result<usize, Error> {
    let regions = client.regions("cities").await?;
    println!("{what}:");
    for region in &regions {
        let bound = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        println!(
            "  [{:>6}, {:>6}) on {}",
            bound(&region.start),
            bound(&region.end),
            region.server
        );
    }
    Ok(regions.len())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "hbase://127.0.0.1:16000".to_string());
    let client = Client::new(&url, Settings::default())?;
    client
        .create_table(
            "cities",
            &[Family::new("d", &[("COMPRESSION", "GZ")])],
            vec!["d".into(), "h".into(), "p".into()],
        )
        .await?;
    let cities = [
        "amman", "bogota", "hanoi", "lima", "oslo", "perth", "quito", "tunis",
    ];
    let puts = cities.map(|city| {
        let put = Mutation::put(city).cell(CellKind::Put, "d", "v", LATEST, city.to_uppercase());
        RowRequest::mutate("cities", put)
    });
    for outcome in client.batch(puts.into()).await {
        outcome?;
    }
    assert_eq!(show(&client, "as made").await?, 4);
    // A region is cut where its files are: they are written first.
    client.flush("cities").await?;
    client.split_region("cities", "m").await?;
    assert_eq!(show(&client, "cut at m").await?, 5);
    // What was cut can be merged again when its files have been rewritten, some minutes later.
    client.move_region("cities", "amman", None).await?;
    client.merge_regions("cities", "amman").await?;
    assert_eq!(
        show(&client, "the first moved and merged with the one behind").await?,
        4
    );

    let mut scanner = client.scan("cities", Scan::all());
    let mut found = Vec::new();
    while let Some(row) = scanner.next().await? {
        found.push(String::from_utf8_lossy(&row.key()).into_owned());
    }
    assert_eq!(found, cities);
    client.disable_table("cities").await?;
    client.delete_table("cities").await
}
