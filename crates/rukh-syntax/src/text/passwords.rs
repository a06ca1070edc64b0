//! Passwords in texts.

/// Whether a text may have a password: such are in no log.
pub fn has_password(sql: &str) -> bool {
    const WORD: &[u8] = b"password";
    sql.as_bytes()
        .windows(WORD.len())
        .any(|part| part.eq_ignore_ascii_case(WORD))
}
