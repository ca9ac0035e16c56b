use serde_json::Value;

use super::{Cut, RepairError, repair_object, repair_object_knowing};

/// What the text was read as, and the kinds of repairs.
fn read(text: &str) -> (String, Vec<String>) {
    let repaired = repair_object(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let _: Value = serde_json::from_str(&repaired.json).unwrap_or_else(|error| panic!("{}: {error}", repaired.json));
    (repaired.json, repaired.repairs.into_iter().map(|repair| repair.kind.into_owned()).collect())
}

fn assert_all(table: &[(&str, &str, &[&str])]) {
    for (text, json, kinds) in table {
        let (read_json, read_kinds) = read(text);
        assert_eq!(
            (read_json.as_str(), read_kinds),
            (*json, kinds.iter().map(ToString::to_string).collect()),
            "{text}"
        );
    }
}

#[test]
fn valid_text_is_untouched() {
    for text in [
        r#"{}"#,
        r#"{ "a" : 1.50, "b":"\u00e9\/","a":2 }"#,
        "{\"note\": \"```json\\n{\\\"a\\\": 1}\\n```\"}",
        r#"{"s": "it's \"quoted\", 'so'", "t": "// no comment"}"#,
        r#"{"id": 18446744073709551616, "x": 0.10000000000000000000000001}"#,
    ] {
        let repaired = repair_object(text).unwrap();
        assert_eq!((repaired.json.as_str(), repaired.repairs.len(), repaired.unclosed), (text, 0, false));
    }
}

#[test]
fn commas() {
    assert_all(&[
        (r#"{"a": 1, "b": [1, 2,],}"#, r#"{"a":1,"b":[1,2]}"#, &["trailing-comma", "trailing-comma"]),
        (r#"{"a": 1 "b": "x" "c": [1 2 "y" "z"]}"#, r#"{"a":1,"b":"x","c":[1,2,"y","z"]}"#, &["missing-comma"; 5]),
        ("{\"a\": {\"x\": 1}\n\"b\": [{} {}]}", r#"{"a":{"x":1},"b":[{},{}]}"#, &["missing-comma"; 2]),
        (r#"{"a": 1,, "b": 2}"#, r#"{"a":1,"b":2}"#, &["extra-comma"]),
        (r#"{"a": true b: null}"#, r#"{"a":true,"b":null}"#, &["missing-comma", "unquoted-key"]),
        ("{\"a\"：\"x\"，\"b\"：1}", r#"{"a":"x","b":1}"#, &["full-width-punctuation"; 3]),
    ]);
}

#[test]
fn keys_and_strings_in_other_quotes_or_none() {
    assert_all(&[
        (r#"{'a': 'x', "b": 'it\'s'}"#, r#"{"a":"x","b":"it's"}"#, &["quote-marks"; 3]),
        (r#"{'a': 'say "hi"'}"#, r#"{"a":"say \"hi\""}"#, &["quote-marks"; 2]),
        (r#"{a: 1, b_c-d: "x", $e: 2}"#, r#"{"a":1,"b_c-d":"x","$e":2}"#, &["unquoted-key"; 3]),
        (r#"{"city": New York, "zip": 10_001}"#, r#"{"city":"New York","zip":"10_001"}"#, &["unquoted-string"; 2]),
        (r#"{"u": http://x.y/z, "at": 12:30}"#, r#"{"u":"http://x.y/z","at":"12:30"}"#, &["unquoted-string"; 2]),
        ("{“a”: “x”, ‘b’: ‘y’}", r#"{"a":"x","b":"y"}"#, &["quote-marks"; 4]),
        ("{“a\": “x ”y” z”}", r#"{"a":"x ”y” z"}"#, &["quote-marks", "quote-marks", "unescaped-quote"]),
        ("{\"a\": `x`}", r#"{"a":"x"}"#, &["quote-marks"]),
        (
            r#"{a: <|"|>x "y" \n<|"|>, "b": [<|"|>z<|"|]}"#,
            r#"{"a":"x \"y\" \\n","b":["z"]}"#,
            &["unquoted-key", "quote-marks", "quote-marks"],
        ),
        (r#"{"a": ["<|"|>x<|"|>", "<|"|y<|"|"],}"#, r#"{"a":["<|\"|>x<|\"|>","<|\"|y<|\"|"]}"#, &["trailing-comma"]),
        ("{\"a\": \"\"\"one\n\"two\" \"\"\"}", r#"{"a":"one\n\"two\" "}"#, &["quote-marks", "control-character"]),
        (r#"{"a": """he said "no"""", "b": ''''''}"#, r#"{"a":"he said \"no\"","b":""}"#, &["quote-marks"; 2]),
    ]);
}

#[test]
fn literals_and_numbers() {
    assert_all(&[
        (r#"{"a": True, "b": False, "c": None}"#, r#"{"a":true,"b":false,"c":null}"#, &["python-literal"; 3]),
        (r#"{"a": .5, "b": 5., "c": +7, "d": -.5e3}"#, r#"{"a":0.5,"b":5.0,"c":7,"d":-0.5e3}"#, &["number-form"; 4]),
        (r#"{"a": NaN, "b": 007, "c": 0x1F}"#, r#"{"a":"NaN","b":"007","c":"0x1F"}"#, &["unquoted-string"; 3]),
        (
            r#"{"id": 340282366920938463463374607431768211456, "x": 3.14159265358979323846264338,}"#,
            r#"{"id":340282366920938463463374607431768211456,"x":3.14159265358979323846264338}"#,
            &["trailing-comma"],
        ),
    ]);
}

#[test]
fn comments() {
    assert_all(&[
        ("{\"a\": 1, // one\n \"b\": /* two */ 2}", r#"{"a":1,"b":2}"#, &["comment"; 2]),
        (
            "{\"a\": \"x\", # first\n\"b\": y # second\n}",
            r#"{"a":"x","b":"y"}"#,
            &["comment", "unquoted-string", "comment"],
        ),
        ("{\"a\": \"x\" // c, \"d\"\n, \"b\": 2}", r#"{"a":"x","b":2}"#, &["comment"]),
    ]);
}

#[test]
fn brackets() {
    assert_all(&[
        (r#"{{"a": 1}}"#, r#"{"a":1}"#, &["doubled-brace"]),
        (r#"{{"a": {{"b": 1}}, "c": 2}}"#, r#"{"a":{"b":1},"c":2}"#, &["doubled-brace"; 2]),
        (r#"{{"a": 1}"#, r#"{"a":1}"#, &["doubled-brace"]),
        (r#"{"a": 1}}"#, r#"{"a":1}"#, &["extra-closer"]),
        (r#"{"a": 1}]"#, r#"{"a":1}"#, &["extra-closer"]),
        (r#"{"a": {"b": 1}}, "c": 2}"#, r#"{"a":{"b":1},"c":2}"#, &["extra-closer"]),
        (r#"{"a": [1, 2}"#, r#"{"a":[1,2]}"#, &["missing-closer"]),
        (r#"{"a": [{"b": "x"], "c": 1}"#, r#"{"a":[{"b":"x"}],"c":1}"#, &["missing-closer"]),
        (r#"{"a": "x"]"#, r#"{"a":"x"}"#, &["mismatched-closer"]),
        (r#"{"a": {"b": 1], "c": 2}"#, r#"{"a":{"b":1},"c":2}"#, &["mismatched-closer"]),
        (r#"{"a": 1], "b": 2}"#, r#"{"a":1,"b":2}"#, &["extra-closer"]),
    ]);
}

#[test]
fn text_around_the_object() {
    assert_all(&[
        ("```json\n{\"a\": 1}\n```", r#"{"a":1}"#, &["code-fence"]),
        ("Here it is: {\"a\": 1} as you asked.", r#"{"a":1}"#, &["surrounding-text"]),
        ("{\"a\": 1}</tool_call>", r#"{"a":1}"#, &["surrounding-text"]),
        ("[ARGS]{\"a\": \"x\"}", r#"{"a":"x"}"#, &["surrounding-text"]),
        (r#""{"a": 1}""#, r#"{"a":1}"#, &["surrounding-text"]),
        (r#"{"p": 6}{"p": 6}"#, r#"{"p":6}"#, &["duplicate-object"]),
        (r#"{"p": 6} {"p":6}, {"p": 6}"#, r#"{"p":6}"#, &["duplicate-object", "surrounding-text"]),
        (r#"{}{"p": 6}"#, r#"{"p":6}"#, &["empty-object"]),
    ]);
}

#[test]
fn control_characters_and_escapes() {
    assert_all(&[
        ("{\"a\": \"x\ny\tz\u{1}\"}", "{\"a\":\"x\\ny\\tz\\u0001\"}", &["control-character"; 3]),
        (r#"{"re": "\d+\.\w"}"#, r#"{"re":"\\d+\\.\\w"}"#, &["invalid-escape"; 3]),
        (r#"{"p": "C:\Program Files\x"}"#, r#"{"p":"C:\\Program Files\\x"}"#, &["invalid-escape"; 2]),
        (
            r#"{"p": "copy C:\new\Users\temp D:\n\x,"}"#,
            r#"{"p":"copy C:\\new\\Users\\temp D:\\n\\x,"}"#,
            &["invalid-escape"; 5],
        ),
        (r#"{"p": "C:\\new\\x \q"}"#, r#"{"p":"C:\\new\\x \\q"}"#, &["invalid-escape"]),
        (
            r#"{"m": "mark \* as bullet, then \033[1m bold\n"}"#,
            r#"{"m":"mark \\* as bullet, then \\033[1m bold\n"}"#,
            &["invalid-escape"; 2],
        ),
        (r#"{"m": "\ud83d \u12g \ud83d\ude00"}"#, r#"{"m":"\\ud83d \\u12g \ud83d\ude00"}"#, &["invalid-escape"; 2]),
        (r#"{"a": 1,\n "b": 2\n}"#, r#"{"a":1,"b":2}"#, &["backslash-space"; 2]),
        (r#"{"a": [1,\\n\t2]}"#, r#"{"a":[1,2]}"#, &["backslash-space"; 2]),
    ]);
}

#[test]
fn escaped_quotes_around_values() {
    assert_all(&[
        (r#"{"term": \\"cork\\"}"#, r#"{"term":"cork"}"#, &["over-escaped"]),
        (r#"{"term": \"cork\", "n": 1}"#, r#"{"term":"cork","n":1}"#, &["over-escaped"]),
        (r#"{\"a\": \"say \\\"hi\\\"\", \"b\": [1]}"#, r#"{"a": "say \"hi\"", "b": [1]}"#, &["over-escaped"]),
    ]);
}

#[test]
fn quotes_inside_strings() {
    assert_all(&[
        (
            r#"{"file": "cfg.lua", "text": "lookup("PORT", "8080")"}"#,
            r#"{"file":"cfg.lua","text":"lookup(\"PORT\", \"8080\")"}"#,
            &["unescaped-quote"],
        ),
        (r#"{"a": "he said "hi"", "b": 1}"#, r#"{"a":"he said \"hi\"","b":1}"#, &["unescaped-quote"]),
        (r#"{"a": "say "hi"} now"}"#, r#"{"a":"say \"hi\"} now"}"#, &["unescaped-quote"]),
        (r#"{"a": ["f("x", "y")", "z"]}"#, r#"{"a":["f(\"x\", \"y\")","z"]}"#, &["unescaped-quote"]),
        (r#"{"a": "5" disk", "b": "x"}"#, r#"{"a":"5\" disk","b":"x"}"#, &["unescaped-quote"]),
        (
            r#"{'a': 'it's fine', 'b': 1}"#,
            r#"{"a":"it's fine","b":1}"#,
            &["quote-marks", "quote-marks", "unescaped-quote", "quote-marks"],
        ),
        (
            r#"{"file": "a.json", "text": "{"file": "b", "text": "c"}"}"#,
            r#"{"file":"a.json","text":"{\"file\": \"b\", \"text\": \"c\"}"}"#,
            &["unescaped-quote"],
        ),
        (
            r#"{"a": "{"b": "c", "d": "1"}", "e": [1]}"#,
            r#"{"a":"{\"b\": \"c\", \"d\": \"1\"}","e":[1]}"#,
            &["unescaped-quote"],
        ),
        (r#"{"a": {"b": "x "y" z"}"#, r#"{"a":{"b":"x \"y\" z"}}"#, &["unescaped-quote", "missing-closer"]),
    ]);
}

#[test]
fn known_keys_decide_where_a_string_ends() {
    let known = |depth: usize, key: &str| depth > 1 || ["cmd", "path"].contains(&key);
    let text = r#"{"cmd": "echo "x", "y": "z"", "path": "p"}"#;
    let repaired = repair_object_knowing(text, Some(&known)).unwrap();
    assert_eq!(repaired.json, r#"{"cmd":"echo \"x\", \"y\": \"z\"","path":"p"}"#);
}

#[test]
fn a_text_that_only_lacks_closers_is_read_and_marked() {
    for (text, json) in [
        (r#"{"plots": [{"id": "n1"}, {"id": "s2"}"#, r#"{"plots":[{"id":"n1"},{"id":"s2"}]}"#),
        (r#"{"a": {"b": "x""#, r#"{"a":{"b":"x"}}"#),
        ("{\"a\": 1\n", r#"{"a":1}"#),
        (r#"{"a": true"#, r#"{"a":true}"#),
    ] {
        let repaired = repair_object(text).unwrap();
        assert_eq!((repaired.json.as_str(), repaired.unclosed), (json, true), "{text}");
    }
}

#[test]
fn what_is_cut_inside_or_before_a_value_is_refused() {
    for (text, cut) in [
        (r#"{"a": "x"#, Cut::InString),
        (r#"{"a": "x", "b"#, Cut::InString),
        (r#"{"a": 'x"#, Cut::InString),
        (r#"{"a": """x"#, Cut::InString),
        (r#"{"a": "x\"#, Cut::InString),
        (r#"{"a": "x\"y"#, Cut::InString),
        (r#"{"a": tru"#, Cut::InValue),
        (r#"{"a": 12"#, Cut::InValue),
        (r#"{"a": [1, 2"#, Cut::InValue),
        (r#"{"a": New Yo"#, Cut::InValue),
        (r#"{"a": "#, Cut::AfterKey("a".to_owned())),
        (r#"{"a": 1, "b""#, Cut::AfterKey("b".to_owned())),
        (r#"{"a": "x", "b""#, Cut::AfterKey("b".to_owned())),
        (r#"{"a": "x","#, Cut::AfterComma),
        (r#"{"a": 1,"#, Cut::AfterComma),
        (r#"{"a": [1,"#, Cut::AfterComma),
        ("{", Cut::AfterOpening),
        (r#"{"a": ["#, Cut::AfterOpening),
    ] {
        match repair_object(text) {
            Err(RepairError::Truncated { cut: found, .. }) => assert_eq!(found, cut, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn what_has_no_single_reading_is_refused() {
    for text in [
        "",
        "   ",
        "just some prose",
        "null",
        "5",
        r#""text""#,
        r#"[{"a": 1}]"#,
        "[1, 2]",
        r#"{"a": 1}{"a": 2}"#,
        r#"{"a": 1} and {"b": 2}"#,
        r#"{"a": }"#,
        r#"{"a"}"#,
        r#"{"a", "b": 1}"#,
        r#"{"a": , "b": 1}"#,
        r#"{"a": [1,,2]}"#,
        r#"{"a": [1, 2, ...]}"#,
        r#"{"a": undefined}"#,
        r#"{"a": 1 b}"#,
        r#"{"a": 5 apples}"#,
        r#"{"a": f(1, 2)}"#,
        r#"{"a": 1e999}"#,
        r#"{"a": "x" y}"#,
        r#"{"a": "b" + "c"}"#,
        r#"{"a": "x "y""#,
        r#"{"a": "C:\dir\"}"#,
        r#"{"a": Paris, France}"#,
        r#"{"a": "say "hi"}"#,
        r#"{"a": "{"b": "c", "d": "1"}"#,
        r#"{'a': 'the dogs' bowl'}"#,
        r#"{"a": "one "two" three" "b": 2}"#,
        r#"{"a": {"b": {"c": 1], "d": 2}"#,
        r#"{"line": "sleep 3\n3", "printf A=$A; printf B=$B_SIZE\n</parameter": "#,
        r#"{a b: 1}"#,
        r#"{"a": 1; "b": 2}"#,
    ] {
        assert!(repair_object(text).is_err(), "{text}: {:?}", repair_object(text));
    }
}

#[test]
fn too_deep_is_refused() {
    for depth in [128, 100_000] {
        for (open, close) in [("{\"a\":", "}"), ("[", "]"), ("{", "}"), ("{{", "}}")] {
            let text = format!("{{\"a\": {}1{}}}", open.repeat(depth), close.repeat(depth));
            assert!(matches!(repair_object(&text), Err(RepairError::TooDeep { .. })), "{depth} of {open}");
            assert!(repair_object(&format!("{{\"a\":{}", open.repeat(depth))).is_err());
        }
    }
}

#[test]
fn the_deepest_allowed_text_is_read() {
    let text = format!("{{\"a\": {}1,{}}}", "[".repeat(126), "]".repeat(126));
    assert_eq!(repair_object(&text).unwrap().repairs.len(), 1);
}

#[test]
fn repairs_say_where() {
    let repaired = repair_object(r#"{"a/b": [{"c": 'x'}, {"c": True}], "d": {"e": 1,},}"#).unwrap();
    let paths: Vec<&str> = repaired.repairs.iter().map(|repair| repair.path.as_str()).collect();
    assert_eq!(paths, ["/a~1b/0/c", "/a~1b/1/c", "/d", ""]);
}

#[test]
fn many_repairs_are_counted() {
    let text = format!("{{\"a\": [{}]}}", "True,".repeat(100));
    let repairs = repair_object(&text).unwrap().repairs;
    assert_eq!(repairs.len(), 33);
    assert_eq!(repairs.last().map(|repair| repair.note.as_str()), Some("and 69 more repairs"));
}

#[test]
fn notation_is_told_from_structure() {
    for (text, notation) in [
        ("{'a': True, 'b': \"x\ny\",}", true),
        (r#"{"a": [1}"#, false),
        (r#"{"a": x}"#, false),
        (r#"{"a": 1 "#, false),
        (r#"note: {"a": 1}"#, false),
    ] {
        assert_eq!(repair_object(text).unwrap().only_notation, notation, "{text}");
    }
}
