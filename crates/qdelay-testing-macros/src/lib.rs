//! Attributes of `qdelay-testing`, which contains their documentation. They register a function in its program's list and
//! leave the function unchanged.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// A test of a program with `qdelay_testing::main!()`; `#[ignore = "why"]` below it has its usual meaning.
///
/// `#[test(Browser)]` assigns it to the part `Part::Browser` of the tests: `make test-all` runs it, `make test` lists it as
/// skipped. `#[test(waits)]` marks a test that depends on real time, like all tests of a program with `main!(waits)`; both:
/// `#[test(Browser, waits)]`.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    entered(&arguments, item, "Test")
}

/// Function that runs in a separate process, which a test starts with `qdelay_testing::helper_arguments`.
#[proc_macro_attribute]
pub fn helper(_: TokenStream, item: TokenStream) -> TokenStream {
    entered(&TokenStream::new(), item, "Helper")
}

/// Function without `#[ignore]`, and its registration.
fn entered(arguments: &TokenStream, item: TokenStream, kind: &str) -> TokenStream {
    let (function, ignored) = without_ignore(item);
    let mut words = function.clone().into_iter().skip_while(|token| token.to_string() != "fn");
    let Some(TokenTree::Ident(name)) = words.nth(1) else {
        return "compile_error!(\"expected a function\");".parse().expect("tokens");
    };
    let ignored = ignored.map_or("None".to_string(), |why| format!("Some({why})"));
    let (mut part, mut waits) = ("None".to_string(), false);
    for word in words_of(arguments) {
        match word.as_str() {
            "waits" => waits = true,
            name => part = format!("Some(::qdelay_testing::Part::{name})"),
        }
    }
    let entry = format!(
        "::qdelay_testing::inventory::submit! {{ ::qdelay_testing::Entry {{
            kind: ::qdelay_testing::Kind::{kind}, path: concat!(module_path!(), \"::\", stringify!({name})),
            run: {name}, ignored: {ignored}, part: {part}, waits: {waits} }} }}"
    );
    let entry: TokenStream = entry.parse().expect("tokens");
    function.into_iter().chain(entry).collect()
}

/// Words of an attribute, without the commas between them.
fn words_of(arguments: &TokenStream) -> Vec<String> {
    arguments.clone().into_iter().map(|token| token.to_string()).filter(|token| token != ",").collect()
}

/// Removes `#[ignore]` or `#[ignore = "why"]`; the reason is the literal of the source.
fn without_ignore(item: TokenStream) -> (TokenStream, Option<String>) {
    let (mut kept, mut reason) = (Vec::new(), None);
    for token in item {
        if let TokenTree::Group(group) = &token
            && group.delimiter() == Delimiter::Bracket
            && let Some(TokenTree::Ident(word)) = group.stream().into_iter().next()
            && word.to_string() == "ignore"
        {
            let why = group.stream().into_iter().nth(2);
            reason = Some(why.map_or("\"on request\"".to_string(), |why| why.to_string()));
            // The attribute's number sign.
            kept.pop();
            continue;
        }
        kept.push(token);
    }
    (kept.into_iter().collect(), reason)
}
