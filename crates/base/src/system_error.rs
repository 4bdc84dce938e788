//! The texts of errors of the operating system, as messages for users have them.

use std::io;

/// The reason for an error in words, without the number that the standard library appends, as in `(os error 2)`.
pub fn reason_of(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => text.trim_end_matches(&format!(" (os error {number})")).to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_numbers() {
        let missing = std::fs::read("/no/such/file").unwrap_err();
        assert!(missing.to_string().ends_with("(os error 2)"));
        assert_eq!(reason_of(&missing), "No such file or directory");
        assert_eq!(reason_of(&io::Error::other("it (os error 2)")), "it (os error 2)");
    }
}
