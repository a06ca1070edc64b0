//! URLs: `hbase://host:port[,host:port…]/namespace`.
//!
//! The hosts are masters or region servers; any of them knows where the rest is.

use crate::Error;

/// Where a cluster is, and which namespace of it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Hosts and ports of the bootstrap servers; at least one.
    pub hosts: Vec<(String, u16)>,
    /// The namespace; `default` where the URL names none.
    pub namespace: String,
}

impl Address {
    /// Reads a URL.
    ///
    /// | URL                          | hosts         | namespace |
    /// |------------------------------|---------------|-----------|
    /// | `hbase://a:16000/n`          | a:16000       | n         |
    /// | `hbase://a:1,b:2`            | a:1, b:2      | default   |
    /// | `hbase://[::1]:16000/`       | ::1, 16000    | default   |
    /// | `hbase://a:1/n?auth=kerberos`| not supported |           |
    pub fn parse(url: &str) -> Result<Address, Error> {
        let invalid = |reason: &str| Error::Address {
            url: url.to_string(),
            reason: reason.to_string(),
        };
        let rest = url
            .strip_prefix("hbase://")
            .ok_or_else(|| invalid("it does not begin with hbase://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        check_options(query, &invalid)?;
        let (hosts, namespace) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts = hosts.split(',').map(|host| host_and_port(host, &invalid));
        let namespace = if namespace.is_empty() {
            "default"
        } else {
            namespace
        };
        if !is_name(namespace) {
            return Err(invalid("a namespace has letters, digits and _ only"));
        }
        Ok(Address {
            hosts: hosts.collect::<Result<_, _>>()?,
            namespace: namespace.to_string(),
        })
    }
}

fn check_options(query: &str, invalid: &impl Fn(&str) -> Error) -> Result<(), Error> {
    for option in query.split('&').filter(|option| !option.is_empty()) {
        match option {
            "auth=simple" => {}
            "auth=kerberos" => {
                return Err(Error::Unsupported {
                    what: "Kerberos authentication".to_string(),
                });
            }
            _ => return Err(invalid(&format!("the option {option} is not known"))),
        }
    }
    Ok(())
}

fn host_and_port(text: &str, invalid: &impl Fn(&str) -> Error) -> Result<(String, u16), Error> {
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| invalid("a host needs a port, as in host:16000"))?;
    let port: u16 = port
        .parse()
        .map_err(|_| invalid("a port is a number up to 65535"))?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    match host.is_empty() || port == 0 {
        true => Err(invalid("a host and a port are needed")),
        false => Ok((host.to_string(), port)),
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let read = |url: &str| Address::parse(url).map_err(|error| error.to_string());
        let address = read("hbase://a:16000,[::1]:2/n").unwrap();
        assert_eq!(address.hosts, [("a".to_string(), 16000), ("::1".to_string(), 2)]);
        assert_eq!(address.namespace, "n");
        assert_eq!(read("hbase://a:1").unwrap().namespace, "default");
        for url in [
            "a:1",
            "hbase://a",
            "hbase://:1/",
            "hbase://a:0",
            "hbase://a:99999",
            "hbase://a:1/x/y",
            "hbase://a:1/?b=c",
        ] {
            assert!(
                read(url).unwrap_err().starts_with("invalid HBase address"),
                "{url}"
            );
        }
        assert_eq!(
            read("hbase://a:1/?auth=kerberos").unwrap_err(),
            "Kerberos authentication is not supported"
        );
    }
}
