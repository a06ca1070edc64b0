//! URLs: `hbase://host:port[,host:port…]/namespace`.
//!
//! The hosts are masters or region servers; any of them knows where the rest is.

use std::path::PathBuf;

use crate::{Error, Tls};

/// Where a cluster is, and which namespace of it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Hosts and ports of the bootstrap servers; at least one.
    pub hosts: Vec<(String, u16)>,
    /// The namespace; `default` where the URL names none.
    pub namespace: String,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
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
    ///
    /// Options are those of PostgreSQL's URLs: `sslrootcert=FILE` for TLS, with `sslcert=FILE&sslkey=FILE` where servers require certificates of clients.
    /// `sslmode` is `disable` or `verify-full`. Files are named as in a URL, with `%20` for a space.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let invalid = |reason: &str| Error::Address {
            url: url.to_string(),
            reason: reason.to_string(),
        };
        let rest = url
            .strip_prefix("hbase://")
            .ok_or_else(|| invalid("it does not begin with hbase://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let tls = read_options(query, &invalid)?;
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
            tls,
        })
    }
}

/// Reads what is behind the `?`: how connections are made.
fn read_options(query: &str, invalid: &impl Fn(&str) -> Error) -> Result<Option<Tls>, Error> {
    let (mut mode, mut roots, mut chain, mut key) = (None, None, None, None);
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match (name, value) {
            ("auth", "simple") => {}
            ("auth", "kerberos") => {
                return Err(Error::Unsupported {
                    what: "Kerberos authentication".to_string(),
                });
            }
            ("sslmode", "disable" | "verify-full") => mode = Some(value),
            ("sslmode", _) => return Err(invalid("sslmode is disable or verify-full")),
            ("sslrootcert", _) => roots = Some(path(value, invalid)?),
            ("sslcert", _) => chain = Some(path(value, invalid)?),
            ("sslkey", _) => key = Some(path(value, invalid)?),
            _ => return Err(invalid(&format!("the option {option} is not known"))),
        }
    }
    let own = match (chain, key) {
        (Some(chain), Some(key)) => Some((chain, key)),
        (None, None) => None,
        _ => return Err(invalid("sslcert and sslkey are given together")),
    };
    match (mode, roots) {
        (Some("disable"), _) => Ok(None),
        (_, Some(roots)) => Ok(Some(Tls { roots, own })),
        (None, None) if own.is_none() => Ok(None),
        (_, None) => Err(invalid(
            "TLS needs sslrootcert, the file of the certificates to be trusted",
        )),
    }
}

/// Reads a path of a URL: `%` and two digits of base 16 are a byte.
fn path(text: &str, invalid: &impl Fn(&str) -> Error) -> Result<PathBuf, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = behind
            .get(..2)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, behind) = match (first, escaped) {
            (b'%', Some(byte)) => (byte, &behind[2..]),
            (b'%', None) => return Err(invalid("two digits of base 16 follow a %")),
            (byte, _) => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    match String::from_utf8(bytes) {
        Ok(path) if !path.is_empty() => Ok(path.into()),
        _ => Err(invalid("the name of a file is empty or no UTF-8")),
    }
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
        let tls = |query: &str| read(&format!("hbase://a:1/?{query}"));
        for plain in ["sslmode=disable", "auth=simple", "sslmode=disable&sslrootcert=r"] {
            assert_eq!(tls(plain).unwrap().tls, None, "{plain}");
        }
        assert_eq!(
            tls("sslmode=verify-full&sslrootcert=/a%20b%C3%A4&sslcert=c&sslkey=k")
                .unwrap()
                .tls,
            Some(Tls {
                roots: "/a bä".into(),
                own: Some(("c".into(), "k".into())),
            })
        );
        for (query, reason) in [
            ("sslmode=verify-full", "TLS needs sslrootcert"),
            ("sslcert=c&sslkey=k", "TLS needs sslrootcert"),
            ("sslmode=require", "sslmode is disable or verify-full"),
            ("sslrootcert=r&sslcert=c", "are given together"),
            ("sslrootcert=", "is empty"),
            ("sslrootcert=%ff", "no UTF-8"),
            ("sslrootcert=%f", "two digits"),
            ("sslrootcert=%+1", "two digits"),
        ] {
            let error = tls(query).unwrap_err();
            assert!(error.contains(reason), "{query}: {error}");
        }
        assert_eq!(
            read("hbase://a:1/?auth=kerberos").unwrap_err(),
            "Kerberos authentication is not supported"
        );
    }
}
