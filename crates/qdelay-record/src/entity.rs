//! Entities of results: structs whose fields are named once, with what they are. Writing, reading, rounding,
//! look-up and documentation of figures use this declaration.

use std::collections::BTreeMap;

/// A field of an [`entity!`](macro@crate::entity).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in files.
    pub name: &'static str,
    /// Meaning, and unit.
    pub about: &'static str,
    /// Shape of its value.
    pub shape: fn() -> Shape,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A number, or none.
    Number,
    /// The fields of an entity of this name.
    Fields(&'static str, &'static [Field]),
    /// A map of such values, by names that are known at run time.
    Named(fn() -> Shape),
    /// A list, whose entries have no names.
    List(fn() -> Shape),
    /// Text or a switch.
    Text,
}

/// A value of an entity.
pub trait Entity {
    /// Meaning.
    fn shape() -> Shape;
    /// Cuts every number down to six decimals: nanoseconds of a millisecond, bits of a megabit. More would be noise to read.
    fn round(&mut self);
    /// The figure [cut down](Entity::round). Figures are kept with full precision as long as they are computed with, and rounded once:
    /// where they are written or printed.
    #[must_use]
    fn rounded(mut self) -> Self
    where
        Self: Sized,
    {
        self.round();
        self
    }
}

/// `value` with six decimals.
pub fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A struct whose fields have a doc comment each, as an [`Entity`] that can be written to a file and read from one.
#[macro_export]
macro_rules! entity {
    ($(#[$attribute:meta])* pub struct $name:ident {
        $($(#[doc = $about:literal])+ $(#[serde($($serde:tt)*)])? pub $field:ident: $type:ty,)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $about])+ $(#[serde($($serde)*)])? pub $field: $type,)*
        }

        impl $crate::entity::Entity for $name {
            fn shape() -> $crate::entity::Shape {
                $crate::entity::Shape::Fields(stringify!($name), &[$($crate::entity::Field {
                    name: stringify!($field),
                    about: concat!($($about),+),
                    shape: <$type as $crate::entity::Entity>::shape,
                }),*])
            }
            fn round(&mut self) {
                $($crate::entity::Entity::round(&mut self.$field);)*
            }
        }
    };
}

impl Entity for f64 {
    fn shape() -> Shape {
        Shape::Number
    }
    fn round(&mut self) {
        *self = round(*self);
    }
}

/// Types that need no rounding.
macro_rules! exact {
    ($shape:ident: $($type:ty),*) => {$(
        impl Entity for $type {
            fn shape() -> Shape {
                Shape::$shape
            }
            fn round(&mut self) {}
        }
    )*};
}

exact!(Number: u8, u32, u64, i64);
exact!(Text: bool, String);

impl<T: Entity> Entity for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }
    fn round(&mut self) {
        self.iter_mut().for_each(T::round);
    }
}

impl<T: Entity> Entity for Vec<T> {
    fn shape() -> Shape {
        Shape::List(T::shape)
    }
    fn round(&mut self) {
        self.iter_mut().for_each(T::round);
    }
}

impl<T: Entity> Entity for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Named(T::shape)
    }
    fn round(&mut self) {
        self.values_mut().for_each(T::round);
    }
}

impl Field {
    /// The field of `fields` with this name.
    pub fn named<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
        fields.iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    entity! {
        /// A part.
        pub struct Part {
            /// Something, in ms.
            pub some_ms: f64,
            /// Perhaps more.
            #[serde(skip_serializing_if = "Option::is_none", default)]
            pub more: Option<u64>,
        }
    }

    entity! {
        /// A whole.
        pub struct Whole {
            /// Parts of the field.
            pub parts: BTreeMap<String, Part>,
            /// Rates.
            pub rates: Vec<Option<f64>>,
        }
    }

    #[test]
    fn fields_are_what_is_declared() {
        let Shape::Fields("Whole", [parts, rates]) = Whole::shape() else { panic!("two fields") };
        let Shape::Named(part) = (parts.shape)() else { panic!("parts by name") };
        let Shape::Fields("Part", [some, more]) = part() else { panic!("two fields") };
        assert_eq!((parts.name, rates.about, some.about), ("parts", " Rates.", " Something, in ms."));
        assert!(matches!((more.shape)(), Shape::Number) && matches!((rates.shape)(), Shape::List(_)));
    }

    #[test]
    fn every_number_has_six_decimals() {
        let part = Part { some_ms: 1.234_567_89, more: Some(7) };
        let mut whole =
            Whole { parts: [("a".to_string(), part)].into(), rates: vec![None, Some(0.000_000_4)] };
        whole.round();
        assert_eq!((whole.parts["a"].some_ms, whole.rates), (1.234_568, vec![None, Some(0.0)]));
    }
}
