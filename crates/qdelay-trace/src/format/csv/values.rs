//! Columns of values in steps, such as delays and losses.

use super::columns::{Columns, UNIT};
use super::{ColumnUnit, Parser};
use crate::error::{Quantity, TraceError};
use crate::format::number::read_number;
use crate::steps::{Step, StepValue, ValueUnit};
use alloc::string::String;
use core::marker::PhantomData;
use qdelay_core::component::Arguments;

/// Unit of a column of values such as delays.
#[derive(Clone, Copy, Debug)]
pub struct UnitOf<V> {
    unit: ValueUnit,
    value: PhantomData<V>,
}

impl<V: StepValue> UnitOf<V> {
    /// The unit `name` of a parameter; the one of lines of text for a name that is none.
    pub fn named(name: &str) -> UnitOf<V> {
        let unit = V::UNITS.iter().find(|unit| unit.name == name).unwrap_or(&V::UNITS[0]);
        UnitOf { unit: *unit, value: PhantomData }
    }
}

impl<V: StepValue> ColumnUnit for UnitOf<V> {
    type Sample = Step<V>;
    const QUANTITY: Quantity = V::TEXTS.quantity;

    fn read(self, line: u64, field: &[u8]) -> Result<f64, TraceError> {
        let value = self.unit.value(read_number(line, self.unit.expected, field)?);
        if V::from_number(value) > V::MAX {
            return Err(TraceError::too_large(line, V::TEXTS.max_of_column, field));
        }
        Ok(value)
    }
}

impl<V: StepValue> Parser<UnitOf<V>> {
    /// A reader of the column that `arguments` of [`StepValue::TABLE`] describe.
    ///
    /// # Errors
    /// No column, or keys that contradict each other.
    pub fn of_values(arguments: &Arguments) -> Result<Parser<UnitOf<V>>, String> {
        let unit = UnitOf::named(arguments.get(&UNIT));
        Columns::in_unit(arguments, unit).map(Parser::new)
    }
}
