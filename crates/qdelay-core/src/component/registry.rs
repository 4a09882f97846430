//! Components that a program adds to the built-in ones.

use super::{Arguments, Component, ComponentError, Kind, find_outside_brackets};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

/// Components from outside: queue disciplines, pacers, congestion controls, traffic sources, MAC schedulers
/// and radio channels that a program adds. The registry is passed to all functions that parse names of
/// components. A clone shares the entries.
///
/// ```
/// use qdelay_core::component::{Component, Kind, Registry};
/// use qdelay_core::qdisc::{self, AnyQdisc, Fifo, FifoLaw, Limit, Qdisc};
///
/// /// Drops nothing.
/// #[derive(Clone, Debug)]
/// struct Patient;
/// impl FifoLaw for Patient {}
/// static PATIENT: Component = Component::new(Kind::Qdisc, "patient", "a queue without an end");
///
/// let registry = Registry::new().with(qdisc::custom(&PATIENT, |_| Ok(Fifo::new(Limit::packets(u64::MAX), Patient))));
/// let arguments = registry.parse(qdisc::COMPONENTS, "patient").unwrap();
/// assert_eq!(AnyQdisc::build(&arguments).unwrap().backlog().packets, 0);
/// assert!(registry.parse(qdisc::COMPONENTS, "impatient").unwrap_err().message.ends_with("fcfs_green, patient; did you mean 'patient'?"));
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    entries: Option<Arc<Vec<Custom>>>,
    opener: Option<Arc<dyn Opener>>,
}

/// Opens components that a user names by their file.
pub trait Opener: Send + Sync {
    /// Opens the file `name` as a component of kind `kind`; `None` if `name` cannot be the name of such a
    /// file. The component is called `name`.
    ///
    /// # Errors
    /// The file cannot be used; the message says what is wrong and what was expected.
    fn open(&self, kind: Kind, name: &str) -> Option<Result<Custom, String>>;

    /// The names opened so far, each with the digest of its file.
    fn opened(&self) -> Vec<(String, String)>;
}

/// A component from outside with the function that builds it. The module of each kind has a function `custom` that returns one,
/// such as [`qdisc::custom`](crate::qdisc::custom).
#[derive(Clone)]
pub struct Custom {
    component: &'static Component,
    maker: Arc<dyn Any + Send + Sync>,
}

impl Custom {
    /// An entry for `component`. `maker` must have the function type with which components of this kind are
    /// built.
    pub fn new<M: Any + Send + Sync>(component: &'static Component, maker: M) -> Custom {
        Custom { component, maker: Arc::new(maker) }
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.component.name)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

impl Registry {
    /// An empty registry.
    pub const fn new() -> Registry {
        Registry { entries: None, opener: None }
    }

    /// The same registry with another component.
    pub fn with(self, custom: Custom) -> Registry {
        let mut entries = self.entries.map(Arc::unwrap_or_clone).unwrap_or_default();
        entries.push(custom);
        Registry { entries: Some(Arc::new(entries)), opener: self.opener }
    }

    /// The same registry, in which a name may also be a file that `opener` opens.
    pub fn opening(self, opener: Arc<dyn Opener>) -> Registry {
        Registry { opener: Some(opener), ..self }
    }

    /// The same registry with the component of a file added, if `text` (`name[:key=value...]`) names a file
    /// of the kind of `built_in`.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn with_file(&self, built_in: &[&'static Component], text: &str) -> Result<Registry, String> {
        let name = find_outside_brackets(text, ':').map_or(text, |end| &text[..end]);
        let kind = built_in.first().map(|component| component.kind);
        let is_known = built_in.iter().copied().chain(self.components()).any(|known| known.name == name);
        match (&self.opener, kind) {
            (Some(opener), Some(kind)) if !is_known => match opener.open(kind, name) {
                Some(opened) => Ok(self.clone().with(opened?)),
                None => Ok(self.clone()),
            },
            _ => Ok(self.clone()),
        }
    }

    /// The names of files that were opened, each with the digest of the file.
    pub fn opened(&self) -> Vec<(String, String)> {
        self.opener.as_ref().map_or_else(Vec::new, |opener| opener.opened())
    }

    fn entries(&self) -> &[Custom] {
        self.entries.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The components, in the order in which they were added.
    pub fn components(&self) -> impl Iterator<Item = &'static Component> {
        self.entries().iter().map(|custom| custom.component)
    }

    /// The built-in components of one kind, followed by the components of this kind from outside.
    pub fn beside(&self, built_in: &[&'static Component]) -> Vec<&'static Component> {
        let kind = built_in.first().map(|component| component.kind);
        let own = self.components().filter(|component| Some(component.kind) == kind);
        built_in.iter().copied().chain(own).collect()
    }

    /// Parses `name[:key=value...]`, with a name of the built-in components of one kind, of the components of this kind from
    /// outside, or of a file with one.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`] and [`Registry::with_file`].
    pub fn parse(&self, built_in: &[&'static Component], text: &str) -> Result<Arguments, ComponentError> {
        let registry =
            self.with_file(built_in, text).map_err(|message| ComponentError::new(text, message))?;
        Ok(Arguments::parse(&registry.beside(built_in), text)?.within(&registry))
    }

    /// Checks that the name of each component from outside is unique within its kind, and that its defaults are valid. A program
    /// calls it once; `built_in` are the built-in components of all kinds.
    ///
    /// # Errors
    /// The first component that fails the check.
    pub fn check(&self, built_in: &[&'static Component]) -> Result<(), ComponentError> {
        let mut known: Vec<&Component> = built_in.to_vec();
        for component in self.components() {
            let fail = |message| Err(ComponentError { typed: component.name.to_string(), message });
            let kind = component.kind.name();
            if known.iter().any(|other| other.kind == component.kind && other.name == component.name) {
                return fail(format!("there already is a {kind} of this name; expected another name"));
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if component.name.is_empty() || !component.name.chars().all(is_plain) {
                return fail(format!("not the name of a {kind}; expected letters, digits, - and _"));
            }
            if let Err(message) = component.check() {
                return fail(message);
            }
            known.push(component);
        }
        Ok(())
    }

    /// The function of type `M` that builds `component`.
    pub(super) fn maker<M: 'static>(&self, component: &'static Component) -> Option<&M> {
        let custom = self.entries().iter().find(|custom| core::ptr::eq(custom.component, component))?;
        custom.maker.downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Typed};
    use super::*;
    use crate::qdisc::COMPONENTS;

    static OWN: Component = Component::new(Kind::Qdisc, "own", "");
    static TWICE: Component = Component::new(Kind::Qdisc, "codel", "");
    static NAMELESS: Component = Component::new(Kind::Qdisc, "a b", "");
    static UNSOUND: Component =
        Component::new(Kind::Qdisc, "unsound", "")
            .with(&[Typed::<u64>::new("limit", "0", "").within("1", "").parameter()]);

    #[test]
    fn declarations_are_checked() {
        let check = |component: &'static Component| {
            let registry = Registry::new().with(Custom::new(component, ()));
            registry.check(COMPONENTS).map_err(|error| error.to_string())
        };
        assert_eq!(check(&OWN), Ok(()));
        assert!(check(&TWICE).unwrap_err().contains("'codel': there already is a qdisc of this name"));
        assert!(check(&NAMELESS).unwrap_err().contains("'a b': not the name of a qdisc"));
        assert!(
            check(&UNSOUND)
                .unwrap_err()
                .contains("'limit' is declared with 0: out of range; expected at least 1")
        );
        let same = Registry::new().with(Custom::new(&OWN, ())).with(Custom::new(&OWN, ()));
        assert!(same.check(COMPONENTS).is_err());
    }

    struct Files;
    impl Opener for Files {
        fn open(&self, kind: Kind, name: &str) -> Option<Result<Custom, String>> {
            static FILE: Component = Component::new(Kind::Qdisc, "./own", "");
            (kind == Kind::Qdisc && name.contains('/')).then(|| match name {
                "./own" => Ok(Custom::new(&FILE, 9_u8)),
                _ => Err("is not there".to_string()),
            })
        }
        fn opened(&self) -> Vec<(String, String)> {
            Vec::new()
        }
    }

    #[test]
    fn names_of_files_are_opened_and_others_are_not() {
        let registry = Registry::new().opening(Arc::new(Files));
        let arguments = registry.parse(COMPONENTS, "./own").unwrap();
        assert_eq!((arguments.typed(), arguments.maker::<u8>()), ("./own", Some(&9)));
        assert_eq!(
            registry.parse(COMPONENTS, "./other:x=1").unwrap_err().to_string(),
            "'./other:x=1': is not there"
        );
        assert_eq!(registry.parse(COMPONENTS, "codel").unwrap().component().name, "codel");
        assert!(registry.parse(COMPONENTS, "codle").unwrap_err().message.contains("did you mean 'codel'?"));
        // A file named inside another component, and a file named without an opener.
        let nested = registry.parse(COMPONENTS, "priority:ef@./own+rest@codel").unwrap();
        assert_eq!(nested.registry().components().count(), 0);
        assert!(
            Registry::new().parse(COMPONENTS, "./own").unwrap_err().message.contains("unknown qdisc './own'")
        );
    }

    #[test]
    fn makers_are_found_by_component_and_type() {
        let registry = Registry::new().with(Custom::new(&OWN, 7_u8));
        let arguments = registry.parse(COMPONENTS, "own").unwrap();
        assert_eq!((arguments.maker::<u8>(), arguments.maker::<u16>()), (Some(&7), None));
        assert_eq!(registry.parse(COMPONENTS, "codel").unwrap().maker::<u8>(), None);
        assert_eq!(Arguments::defaults(&OWN).maker::<u8>(), None);
        assert_eq!(alloc::format!("{registry:?}"), "[own]");
    }
}
