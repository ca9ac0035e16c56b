//! Any text: no panic, what comes out is a valid object, and what was valid is left alone.
#![no_main]

use forge_parse::repair::repair_object;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

fuzz_target!(|text: &str| {
    let strict = serde_json::from_str::<Map<String, Value>>(text);
    match repair_object(text) {
        Ok(repaired) => {
            let object = serde_json::from_str::<Map<String, Value>>(&repaired.json);
            assert!(object.is_ok(), "the repaired text is no object: {}", repaired.json);
            if strict.is_ok() {
                assert!(repaired.repairs.is_empty(), "valid text was repaired: {:?}", repaired.repairs);
            }
        }
        Err(error) => assert!(strict.is_err(), "valid text was refused: {error}"),
    }
});
