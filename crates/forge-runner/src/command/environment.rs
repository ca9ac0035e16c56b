use std::ffi::OsString;

/// The variables that every command gets, where they are set: what programs need to be found, to know their home,
/// and to speak the user's language. None of them holds a secret by custom.
pub const ALWAYS_PASSED: &[&str] = if cfg!(windows) {
    &[
        "PATH",
        "PATHEXT",
        "SystemRoot",
        "SystemDrive",
        "ComSpec",
        "TEMP",
        "TMP",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
    ]
} else {
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"]
};

/// The environment of a command: the variables that are always passed and those of the allow-list, where set.
pub(super) fn allowed_environment(allow_list: &[String]) -> Vec<(OsString, OsString)> {
    let names = ALWAYS_PASSED.iter().copied().chain(allow_list.iter().map(String::as_str));
    names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}
