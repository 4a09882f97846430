//! Cyclic dependencies between files of a crate, compared with the list of allowed ones.
//!
//! A file depends on another if it names an item defined there, in a `use` declaration or in a path in the code;
//! re-exports are followed to the definition, and tests are left out. A module file (`mod.rs`, or `name.rs` beside a folder `name`) names
//! the files of its folder, and these use the items of the module file: such pairs are not counted as cycles.

use crate::architecture::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Allowed cycles, one a line: crate, files below its `src`, and the reason. A resolved cycle must be removed from the list.
#[rustfmt::skip]
const ALLOWED: &[(&str, &str, &str)] = &[
    ("qdelay-core", "component/arguments.rs component/registry.rs", "arguments keep the registry that they were read with"),
    ("qdelay-core", "pacer/parameters.rs pacer/split.rs", "settings of a pacer hold those of its split base station, which are made of the pacer's"),
    ("qdelay-ran", "slice/pool.rs slice/price.rs", "a pool has a price, which is computed from pools"),
    ("qdelay-real", "datagrams.rs irtt.rs measure.rs programs.rs support.rs", "programs that generate flows, their reports, and the measurements"),
    ("qdelay-real", "external/end.rs external/output.rs", "a program's end is read from its output, which looks for the line READY"),
    ("qdelay-real", "linux/capture.rs linux/network.rs", "a capture is of a network, whose settings know the size of captured heads"),
    ("qdelay-study", "scenario/case.rs scenario/origin.rs scenario/overrides.rs scenario/study.rs", "an override is declared with its effect on a study, which keeps those that it was given; a case has tables of the study"),
    ("qdelay-trace", "format/mod.rs lines.rs", "formats are read by lines, whose reader skips the formats' byte order mark"),
];

/// Module in a file of its own, without tests.
struct Source {
    /// Path within the crate's `src`.
    file: String,
    /// Module path from the root of the crate: empty for `lib.rs`.
    module: Vec<String>,
    /// Names of the items defined in the file.
    items: BTreeSet<String>,
    /// Paths of at least two names in the code, such as `crate::run::Run`.
    paths: BTreeSet<Vec<String>>,
    imports: Vec<Import>,
}

/// Name that a `use` declaration binds in its file.
struct Import {
    path: Vec<String>,
    /// `*` for all names of a module.
    name: String,
}

/// Module files of one crate.
struct Crate(BTreeMap<Vec<String>, Source>);

/// Target of a Rust path.
enum Target {
    /// A module, by its index in the crate.
    Module(Vec<String>),
    /// An item defined in this module file.
    Item(Vec<String>),
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Copy of `source` with spaces in place of comments and string contents, so that only code is left.
fn without_text(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or('\0');
    let mut code = String::with_capacity(source.len());
    let mut index = 0;
    while index < letters.len() {
        let begins_word = index == 0 || !is_name(at(index - 1));
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while index < letters.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            // A raw string ends at a quote followed by as many # as precede its first quote.
            'r' if begins_word && matches!(at(index + 1), '"' | '#') => {
                let marks = (index + 1..).take_while(|place| at(*place) == '#').count();
                if at(index + 1 + marks) == '"' {
                    let end: Vec<char> =
                        std::iter::once('"').chain(std::iter::repeat_n('#', marks)).collect();
                    index += marks + 2;
                    while index < letters.len() && !letters[index..].starts_with(&end) {
                        index += 1;
                    }
                    index += end.len();
                } else {
                    code.push('r');
                    index += 1;
                }
            }
            '"' => {
                index += 1;
                while index < letters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
            }
            // A character literal; a lifetime has no second quote.
            '\'' if at(index + 1) == '\\' || at(index + 2) == '\'' => {
                index += 2;
                while index < letters.len() && at(index) != '\'' {
                    index += 1;
                }
                index += 1;
            }
            letter => {
                code.push(letter);
                index += 1;
            }
        }
    }
    code
}

/// Length of the item at the beginning of `code`: to its semicolon, or to the end of its braces.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (index, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            ';' if depth == 0 => return index + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns `code` without items under `cfg(test)`.
fn without_tests(code: &str) -> String {
    let (mut kept, mut rest) = (String::new(), code);
    while let Some(start) = rest.find("#[cfg(") {
        let (before, attribute) = rest.split_at(start);
        let end = attribute.find(")]").map_or(attribute.len(), |end| end + 2);
        let (attribute, after) = attribute.split_at(end);
        kept.push_str(before);
        let is_test = attribute.split(|letter| !is_name(letter)).any(|word| word == "test");
        rest = if is_test && !attribute.contains("not(test)") { &after[item_length(after)..] } else { after };
    }
    kept + rest
}

/// Adds to `imports` the names bound by the tree of a `use` declaration below `path`.
fn read_tree(tree: &str, path: &[String], imports: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let head = head.trim().trim_end_matches(':').split("::").map(str::trim);
        let head = head.filter(|name| !name.is_empty()).map(str::to_string);
        let path: Vec<String> = path.iter().cloned().chain(head).collect();
        let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
        let (mut depth, mut start) = (0, 0);
        for (index, letter) in inner.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    read_tree(&inner[start..index], &path, imports);
                    start = index + 1;
                }
                _ => {}
            }
        }
        read_tree(&inner[start..], &path, imports);
    } else if !tree.is_empty() {
        let (named, alias) =
            tree.split_once(" as ").map_or((tree, None), |(named, alias)| (named, Some(alias)));
        let mut path: Vec<String> =
            path.iter().cloned().chain(named.split("::").map(|name| name.trim().to_string())).collect();
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        let name = alias.map_or_else(|| path[path.len() - 1].clone(), |alias| alias.trim().to_string());
        imports.push(Import { path, name });
    }
}

/// Splits the `use` declarations off `code`.
fn imports_of(code: &str) -> (String, Vec<Import>) {
    let (mut kept, mut rest, mut imports) = (String::new(), code, Vec::new());
    while let Some(start) = rest.find("use ") {
        let (before, declaration) = rest.split_at(start);
        kept.push_str(before);
        if before.ends_with(is_name) {
            kept.push_str("use ");
            rest = &declaration[4..];
            continue;
        }
        let end = declaration.find(';').unwrap_or(declaration.len());
        read_tree(&declaration[4..end], &[], &mut imports);
        rest = &declaration[end..];
    }
    (kept + rest, imports)
}

impl Source {
    fn new(file: String, module: Vec<String>, text: &str) -> Source {
        const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
        let (code, imports) = imports_of(&without_tests(&without_text(text)));
        let words: Vec<&str> =
            code.split(|letter| !is_name(letter)).filter(|word| !word.is_empty()).collect();
        let items = words.windows(2).filter(|pair| KINDS.contains(&pair[0])).map(|pair| pair[1].to_string());
        let chains =
            code.split(|letter| !is_name(letter) && letter != ':').filter(|word| word.contains("::"));
        // A path before a turbofish or a brace ends in an empty name.
        let path =
            |word: &str| word.split("::").filter(|name| !name.is_empty()).map(str::to_string).collect();
        let is_whole =
            |path: &Vec<String>| path.len() > 1 && path.iter().all(|name| name.chars().all(is_name));
        let paths = chains.map(path).filter(is_whole).collect();
        Source { file, module, items: items.collect(), paths, imports }
    }
}

impl Crate {
    fn read(src: &Path) -> Crate {
        let mut sources = BTreeMap::new();
        let mut folders = vec![(src.to_path_buf(), Vec::<String>::new())];
        while let Some((folder, module)) = folders.pop() {
            let entries =
                fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            for entry in entries.map(|entry| entry.expect("an entry").path()) {
                let name = entry.file_stem().and_then(|name| name.to_str()).expect("a name").to_string();
                let inner = || module.iter().cloned().chain([name.clone()]).collect::<Vec<_>>();
                if entry.is_dir() {
                    folders.push((entry.clone(), inner()));
                    continue;
                }
                // A second program of the crate.
                let is_program =
                    module.is_empty() && name == "main" || module.first().is_some_and(|first| first == "bin");
                if is_program || entry.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let is_root = name == "mod" || module.is_empty() && name == "lib";
                let module = if is_root { module.clone() } else { inner() };
                let text =
                    fs::read_to_string(&entry).unwrap_or_else(|error| panic!("{}: {error}", entry.display()));
                let file = entry.strip_prefix(src).expect("a file of src").display().to_string();
                sources.insert(module.clone(), Source::new(file, module, &text));
            }
        }
        Crate(sources)
    }

    /// Target of `path` in the module `from`; `None` for other crates. `depth` bounds chains of re-exports.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Target> {
        let source = self.0.get(from)?;
        let (first, mut rest) = path.split_first()?;
        if depth == 0 {
            return None;
        }
        let mut module: Vec<String> = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from[..from.len().saturating_sub(1)].to_vec(),
            name => {
                let inner: Vec<String> = from.iter().cloned().chain([name.to_string()]).collect();
                if self.0.contains_key(&inner) {
                    inner
                } else {
                    let import =
                        source.imports.iter().find(|import| import.name == name && import.path != path)?;
                    let whole: Vec<String> = import.path.iter().chain(rest).cloned().collect();
                    return self.resolve(from, &whole, depth - 1);
                }
            }
        };
        while let Some((name, further)) = rest.split_first() {
            if name == "super" {
                module.pop();
                rest = further;
                continue;
            }
            let inner: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
            if !self.0.contains_key(&inner) {
                return self.resolve_item(&module, name, further, depth);
            }
            (module, rest) = (inner, further);
        }
        self.0.contains_key(&module).then_some(Target::Module(module))
    }

    /// Target of `name` in `module`, which has no module file of that name: an item, or an imported one.
    fn resolve_item(
        &self,
        module: &[String],
        name: &str,
        further: &[String],
        depth: usize,
    ) -> Option<Target> {
        let source = self.0.get(module)?;
        if let Some(import) = source.imports.iter().find(|import| import.name == name) {
            let whole: Vec<String> = import.path.iter().chain(further).cloned().collect();
            return self.resolve(module, &whole, depth - 1);
        }
        if !source.items.contains(name) {
            for glob in source.imports.iter().filter(|import| import.name == "*") {
                let path = &glob.path[..glob.path.len() - 1];
                if let Some(Target::Module(other)) = self.resolve(module, path, depth - 1)
                    && other != module
                    && self.0[&other].items.contains(name)
                {
                    return Some(Target::Item(other));
                }
            }
        }
        Some(Target::Item(module.to_vec()))
    }

    /// Modules with items that `source` names. Imported modules are left out, because their uses appear in the code.
    fn dependencies(&self, source: &Source) -> BTreeSet<Vec<String>> {
        let imported = source.imports.iter().map(|import| import.path.clone());
        let imported = imported.map(|mut path| {
            path.retain(|name| name != "*");
            path
        });
        let targets = imported
            .chain(source.paths.iter().cloned())
            .filter_map(|path| self.resolve(&source.module, &path, 16));
        let items = targets.filter_map(|target| match target {
            Target::Item(module) => Some(module),
            Target::Module(_) => None,
        });
        let all = items.chain(self.globs(source));
        all.filter(|module| *module != source.module).collect()
    }

    /// Modules whose names `source` imports with `*`.
    fn globs(&self, source: &Source) -> Vec<Vec<String>> {
        let globs = source.imports.iter().filter(|import| import.name == "*");
        let targets =
            globs.filter_map(|glob| self.resolve(&source.module, &glob.path[..glob.path.len() - 1], 16));
        let modules = targets.filter_map(|target| match target {
            Target::Module(module) => Some(module),
            Target::Item(_) => None,
        });
        modules.collect()
    }

    /// Cycles, each as the sorted names of its files with a space between them.
    fn cycles(&self) -> BTreeSet<String> {
        // A module names the files of its folder, and these use its items.
        let others = |source: &Source| {
            let mut known = self.dependencies(source);
            known.retain(|module| !module.starts_with(&source.module));
            known
        };
        let edges = self.0.iter().map(|(module, source)| (module.clone(), others(source))).collect();
        let mut found = BTreeSet::new();
        for part in components(&edges) {
            let mut files: Vec<&str> = part.iter().map(|module| self.0[module].file.as_str()).collect();
            files.sort_unstable();
            found.insert(files.join(" "));
        }
        found
    }
}

type Edges = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Strongly connected sets of at least two modules.
fn components(edges: &Edges) -> Vec<BTreeSet<Vec<String>>> {
    let reached = |start: &Vec<String>| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(module) = next.pop() {
            for known in edges.get(module).into_iter().flatten() {
                if seen.insert(known.clone()) {
                    next.push(known);
                }
            }
        }
        seen
    };
    let reached: Edges = edges.keys().map(|module| (module.clone(), reached(module))).collect();
    let part = |module: &Vec<String>| {
        let mutual = reached[module]
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)));
        mutual.cloned().collect::<BTreeSet<_>>()
    };
    let parts: BTreeSet<_> = edges.keys().map(part).filter(|part| part.len() > 1).collect();
    parts.into_iter().collect()
}

/// The folders of the crates.
fn crates() -> Vec<String> {
    let folder = root().join("crates");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.filter_map(|entry| entry.expect("an entry").file_name().into_string().ok());
    names.filter(|name| folder.join(name).join("src").is_dir()).collect()
}

#[test]
fn files_depend_on_each_other_in_no_cycle_that_is_not_listed() {
    let found: BTreeSet<(String, String)> = crates()
        .into_iter()
        .flat_map(|name| {
            let cycles = Crate::read(&root().join("crates").join(&name).join("src")).cycles();
            cycles.into_iter().map(move |files| (name.clone(), files))
        })
        .collect();
    let allowed: BTreeSet<(String, String)> =
        ALLOWED.iter().map(|(name, files, _)| (name.to_string(), files.to_string())).collect();
    let new: Vec<_> = found.difference(&allowed).collect();
    assert!(
        new.is_empty(),
        "files that depend on each other in a cycle; move what they share into a third: {new:#?}"
    );
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(gone.is_empty(), "cycles that are resolved: take them out of ALLOWED: {gone:#?}");
}

/// Crate of these files, in a separate folder.
fn made(name: &str, files: &[(&str, &str)]) -> Crate {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cycles-{name}-{}", std::process::id()));
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        fs::write(path, text).expect("a file is written");
    }
    let made = Crate::read(&folder);
    fs::remove_dir_all(folder).expect("a folder is removed");
    made
}

#[test]
fn a_cycle_is_found_through_re_exports_and_paths() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::Second;\n"),
        ("a.rs", "use crate::{Second as Other, c};\npub struct First(Other);\nfn call() { c::run() }\n"),
        ("b.rs", "pub struct Second;\nfn call() -> Option<crate::a::First> { None }\n"),
        ("c.rs", "pub fn run() {}\n#[cfg(test)]\nmod tests {\n    use crate::a::First;\n}\n"),
    ];
    assert_eq!(made("plain", &files).cycles(), BTreeSet::from(["a.rs b.rs".to_string()]));
}

#[test]
fn a_module_file_and_its_folder_are_no_cycle() {
    let files = [
        ("lib.rs", "mod a;\npub struct Shared;\npub use a::inner::Inner;\n"),
        ("a/mod.rs", "pub mod inner;\n// use crate::nothing;\npub struct Outer(inner::Inner);\n"),
        (
            "a/inner.rs",
            "use super::Outer;\nuse crate::Shared;\npub struct Inner(Option<Box<Outer>>, Shared, &'static str);\n",
        ),
    ];
    assert_eq!(made("folder", &files).cycles(), BTreeSet::new());
}

#[test]
fn text_and_comments_are_no_code() {
    let source =
        "a \"use x::y;\" 'q' '\\'' b'\"' r#\"use \"z\"\"# <'a>() // use w;\nuse crate::{v::{self, W}, u::*};";
    let (code, imports) = imports_of(&without_text(source));
    let imports: Vec<(String, &str)> =
        imports.iter().map(|import| (import.path.join("::"), import.name.as_str())).collect();
    let paths = ["crate::v", "crate::v::W", "crate::u::*"];
    assert_eq!(
        imports,
        [(paths[0].to_string(), "v"), (paths[1].to_string(), "W"), (paths[2].to_string(), "*")]
    );
    assert!(!code.contains("use") && code.contains("<'a>"), "{code}");
}
