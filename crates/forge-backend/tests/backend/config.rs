//! Configurations that can't work, and where the key goes.

use forge_backend::{OpenAiCompatible, OpenAiConfig, Secret};
use rstest::rstest;

use super::support::{ScriptedServer, good, request, respond};

fn refusal(change: impl FnOnce(&mut OpenAiConfig)) -> String {
    let mut config = OpenAiConfig::new("http://127.0.0.1:1");
    change(&mut config);
    OpenAiCompatible::new(config).unwrap_err().to_string()
}

#[rstest]
#[case::scheme(
    refusal(|config| config.base_url = "localhost:8080".to_owned()),
    r#""localhost:8080" has the scheme "localhost"; allowed are http and https, as in http://127.0.0.1:8080"#)]
#[case::credential_in_the_address(
    refusal(|config| config.base_url = "http://me:hunter2@127.0.0.1:8080".to_owned()),
    r#"the address of "127.0.0.1:8080" holds a user name or password; remove it and give the key as the API key"#)]
#[case::empty_key(
    refusal(|config| config.api_key = Some(Secret::new(""))),
    "the API key is empty; leave it out for a server that needs none")]
#[case::key_with_a_line_break(
    refusal(|config| config.api_key = Some(Secret::new("hunter2\n"))),
    "the API key has a character that an HTTP header can't hold, such as a line break at its end")]
#[case::empty_model(
    refusal(|config| config.model = Some(" ".to_owned())),
    "the model's name is empty; leave it out to take the server's first model")]
fn a_configuration_that_can_not_work_is_refused(#[case] refusal: String, #[case] message: &str) {
    assert_eq!(refusal, message);
}

#[tokio::test]
async fn the_key_goes_out_in_one_header() {
    let server = ScriptedServer::always(good("hi")).await;
    let config = OpenAiConfig { api_key: Some(Secret::new("hunter2")), ..server.config() };
    respond(&OpenAiCompatible::new(config).unwrap(), request()).await.unwrap();
    assert_eq!(server.completions()[0].header("authorization"), Some("Bearer hunter2"));
}

#[test]
fn the_key_is_not_in_the_debug_form() {
    let config = OpenAiConfig { api_key: Some(Secret::new("hunter2")), ..OpenAiConfig::new("http://127.0.0.1:1") };
    let debug = format!("{config:?} {:?}", OpenAiCompatible::new(config.clone()).unwrap());
    assert!(!debug.contains("hunter2"), "{debug}");
}
