//! Typed parameters: each constant is the declaration of a parameter and the key to its value.

use super::{Parameter, Unit, Value};
use crate::units::{Rate, Span};
use alloc::string::ToString;
use core::marker::PhantomData;

/// A parameter with values of type `T`: [`Arguments::get`](super::Arguments::get) returns one. `Typed<Option<T>>` is a
/// parameter that may stay unset; any other has a default.
#[derive(Debug)]
pub struct Typed<T: ?Sized> {
    parameter: Parameter,
    of: PhantomData<T>,
}

/// A type that the value of a parameter can have: durations, rates, whole numbers, numbers, switches and
/// text. A parameter of type `u32` must have a range within that of `u32`.
pub trait Typeable {
    /// Unit of a parameter whose declaration names no other.
    const UNIT: Unit;
    /// True if a parameter of this type may be without a default.
    const IS_OPTIONAL: bool = false;
    /// The type of the returned value.
    type Value<'a>;

    /// The value as this type; `None` if it is of another type.
    fn from_value(value: &Value) -> Option<Self::Value<'_>>;
    /// The value in its stored form.
    fn into(value: Self::Value<'_>) -> Value;
}

macro_rules! typeable {
    ($($type:ty: $unit:expr, $value:pat => $got:expr, $Got:ty, $given:ident => $stored:expr;)*) => {$(
        impl Typeable for $type {
            const UNIT: Unit = $unit;
            type Value<'a> = $Got;

            fn from_value(value: &Value) -> Option<Self::Value<'_>> {
                if let $value = value { Some($got) } else { None }
            }
            fn into($given: Self::Value<'_>) -> Value {
                $stored
            }
        }
    )*};
}
typeable! {
    Span: Unit::Span, Value::Span(span) => *span, Span, span => Value::Span(span);
    Rate: Unit::Rate, Value::Rate(rate) => *rate, Rate, rate => Value::Rate(rate);
    u64: Unit::Count(""), Value::Whole(number) => *number, u64, number => Value::Whole(number);
    u32: Unit::Count(""), Value::Whole(number) => u32::try_from(*number).ok()?, u32, number => Value::Whole(number.into());
    f64: Unit::Number, Value::Number(number) => *number, f64, number => Value::Number(number);
    bool: Unit::Switch, Value::Switch(is_on) => *is_on, bool, is_on => Value::Switch(is_on);
    str: Unit::Text, Value::Text(text) => text.as_str(), &'a str, text => Value::Text(text.to_string());
}

/// A parameter that may stay unset.
impl<T: Typeable> Typeable for Option<T> {
    const UNIT: Unit = T::UNIT;
    const IS_OPTIONAL: bool = true;
    type Value<'a> = Option<T::Value<'a>>;

    fn from_value(value: &Value) -> Option<Self::Value<'_>> {
        match value {
            Value::Unset => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
    fn into(value: Self::Value<'_>) -> Value {
        value.map_or(Value::Unset, T::into)
    }
}

/// A word or text that may stay unset.
impl Typeable for Option<&'static str> {
    const UNIT: Unit = Unit::Text;
    const IS_OPTIONAL: bool = true;
    type Value<'a> = Option<&'a str>;

    fn from_value(value: &Value) -> Option<Self::Value<'_>> {
        match value {
            Value::Unset => Some(None),
            value => str::from_value(value).map(Some),
        }
    }
    fn into(value: Self::Value<'_>) -> Value {
        value.map_or(Value::Unset, str::into)
    }
}

impl<T: ?Sized> Typed<T> {
    /// The key.
    pub const fn name(&self) -> &'static str {
        self.parameter.name
    }
}

impl<T: Typeable> Typed<T> {
    /// The same parameter without a default: it may stay unset.
    pub const fn optional(self) -> Typed<Option<T>> {
        Typed { parameter: Parameter { default: "", ..self.parameter }, of: PhantomData }
    }
}

impl<T: Typeable + ?Sized> Typed<T> {
    /// The parameter `name`, with a default in the user's notation. The default is empty if the value may stay unset.
    ///
    /// # Panics
    /// The default is empty, but the value may not stay unset. For a constant this is a compile-time error.
    pub const fn new(name: &'static str, default: &'static str, about: &'static str) -> Typed<T> {
        assert!(T::IS_OPTIONAL || !default.is_empty(), "a parameter without a default is a Typed<Option<T>>");
        let parameter = Parameter { name, unit: T::UNIT, default, min: "", max: "", about, source: "" };
        Typed { parameter, of: PhantomData }
    }
    /// The same parameter with another description.
    pub const fn about(self, about: &'static str) -> Typed<T> {
        Typed { parameter: Parameter { about, ..self.parameter }, of: PhantomData }
    }
    /// The same parameter with another default, in the user's notation.
    ///
    /// # Panics
    /// Panics of [`Typed::new`].
    pub const fn with_default(self, default: &'static str) -> Typed<T> {
        assert!(T::IS_OPTIONAL || !default.is_empty(), "a parameter without a default is a Typed<Option<T>>");
        Typed { parameter: Parameter { default, ..self.parameter }, of: PhantomData }
    }
    /// The same parameter with a smallest and a largest value, in the user's notation; empty for no limit.
    pub const fn within(self, min: &'static str, max: &'static str) -> Typed<T> {
        Typed { parameter: Parameter { min, max, ..self.parameter }, of: PhantomData }
    }
    /// The same parameter in this unit: [`Unit::Bytes`] or [`Unit::Count`] for whole numbers,
    /// [`Unit::Choice`] for words.
    pub const fn unit(self, unit: Unit) -> Typed<T> {
        Typed { parameter: Parameter { unit, ..self.parameter }, of: PhantomData }
    }
    /// The same parameter with the source of its default: a section of an RFC or paper.
    pub const fn source(self, source: &'static str) -> Typed<T> {
        Typed { parameter: Parameter { source, ..self.parameter }, of: PhantomData }
    }
    /// The declaration of this parameter, for [`Component::with`](super::Component::with).
    pub const fn parameter(&self) -> Parameter {
        self.parameter
    }
}
