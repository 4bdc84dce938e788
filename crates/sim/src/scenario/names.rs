//! The forms that names in a scenario may have.

use std::path::Path;

use airwatt_base::settings::SettingError;

/// Checks the form of a name: letters, digits, `-`, `_` and `/`, so that a dotted key can contain it; and no number, which would
/// be a place in a list.
///
/// # Errors
/// A name of another form.
pub(super) fn check_name(key: &str, name: &str) -> Result<(), SettingError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    if name.is_empty() || !name.chars().all(is_plain) || name.parse::<u64>().is_ok() {
        let expected = "a name of letters, digits, \"-\" and \"_\" that is not a number";
        return Err(SettingError::out_of_range(key, format!("{name:?}"), expected));
    }
    Ok(())
}

/// Characters of a scenario's name. With the ending of an output it must be the name of a file.
const NAME_MAX: usize = 100;

/// Whether a character shows nothing, or changes how others are shown: control characters, and those of directions and joining (Unicode's
/// category Cf) that make a name look like another one.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Checks the name of a scenario. Outputs are named after it, so it must not choose another folder or a hidden file, nor look like an option
/// or another name, and it is printed on terminals.
///
/// # Errors
/// Returns an error for a name that cannot begin the name of a file.
pub(super) fn check_scenario_name(name: &str) -> Result<(), SettingError> {
    let is_plain = |c: char| c != '/' && !is_invisible(c);
    if name.starts_with(['.', '-']) || !name.chars().all(is_plain) || name.chars().count() > NAME_MAX {
        let expected =
            format!("up to {NAME_MAX} characters without slash, invisible character, leading dot or dash");
        let shown: String = name.chars().take(NAME_MAX).collect();
        return Err(SettingError::out_of_range("name", format!("{shown:?}"), expected));
    }
    Ok(())
}

/// The name of a scenario that states none: that of its file without ending, as far as [`check_scenario_name`] accepts it.
pub(super) fn name_of_file(path: &str) -> String {
    let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let plain = stem.trim_start_matches(['.', '-']).chars().map(|c| if is_invisible(c) { '_' } else { c });
    plain.take(NAME_MAX).collect()
}
