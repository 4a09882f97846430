//! Reusable slots, and many short lists in one store. A store allocates when its total exceeds its earlier
//! maximum, and not when one list is longer than before; free slots are linked through the slots themselves.

use alloc::vec::Vec;

/// Null index: no item.
const END: u32 = u32::MAX;

/// Numbered slots for items.
#[derive(Clone, Debug)]
pub(super) struct Places<T> {
    items: Vec<(T, u32)>,
    /// The first free slot, which stores the next one.
    free: u32,
    #[cfg(test)]
    used: usize,
}

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places {
            items: Vec::new(),
            free: END,
            #[cfg(test)]
            used: 0,
        }
    }
}

impl<T> Places<T> {
    /// Stores `item` in a slot: the one freed last, if any is free.
    #[inline]
    pub fn add(&mut self, item: T) -> u32 {
        #[cfg(test)]
        (self.used += 1);
        match self.items.get_mut(self.free as usize) {
            Some(slot) => {
                let place = core::mem::replace(&mut self.free, slot.1);
                *slot = (item, END);
                place
            }
            None => {
                self.items.push((item, END));
                self.items.len() as u32 - 1
            }
        }
    }
    /// Frees the slot. Its item stays until the slot is reused.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        #[cfg(test)]
        (self.used -= 1);
        debug_assert_eq!(self.items[place as usize].1, END, "a slot in use is in no list of free ones");
        self.items[place as usize].1 = core::mem::replace(&mut self.free, place);
    }
    /// The item of a slot that is or was in use.
    #[inline]
    pub fn get(&self, place: u32) -> &T {
        &self.items[place as usize].0
    }
    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize].0
    }
    /// Looks up any number, as [`Places::get_mut`]; `None` if there was never such a slot.
    #[inline]
    pub fn find_mut(&mut self, place: u32) -> Option<&mut T> {
        self.items.get_mut(place as usize).map(|slot| &mut slot.0)
    }
    /// Number of slots, free or not.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Number of slots in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used
    }
}

/// A list in a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    len: u32,
}

impl Chain {
    /// The empty list.
    pub const EMPTY: Chain = Chain { first: END, last: END, len: 0 };

    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }
}

/// The items of all lists, each with the slot of the next item.
#[derive(Clone, Debug)]
pub(super) struct Chains<T> {
    items: Vec<(T, u32)>,
    /// The first slot that is in no list.
    free: u32,
}

impl<T> Default for Chains<T> {
    fn default() -> Chains<T> {
        Chains { items: Vec::new(), free: END }
    }
}

impl<T: Copy> Chains<T> {
    /// Appends `item` to `chain`.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, item: T) {
        let place = match self.items.get_mut(self.free as usize) {
            Some(slot) => {
                let place = core::mem::replace(&mut self.free, slot.1);
                *slot = (item, END);
                place
            }
            None => {
                self.items.push((item, END));
                self.items.len() as u32 - 1
            }
        };
        match self.items.get_mut(chain.last as usize) {
            Some(last) if chain.len > 0 => last.1 = place,
            _ => chain.first = place,
        }
        chain.last = place;
        chain.len += 1;
    }

    /// The items of `chain`, in their order.
    #[inline]
    pub fn iter(&self, chain: Chain) -> impl Iterator<Item = &T> {
        let mut place = chain.first;
        core::iter::from_fn(move || {
            let (item, next) = self.items.get(place as usize)?;
            place = *next;
            Some(item)
        })
    }

    /// Empties `chain`.
    #[inline]
    pub fn clear(&mut self, chain: &mut Chain) {
        if let Some(last) = self.items.get_mut(chain.last as usize) {
            last.1 = self.free;
            self.free = chain.first;
        }
        *chain = Chain::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use qdelay_core::Random;

    #[test]
    fn lists_keep_their_items_and_slots_are_reused() {
        let mut random = Random::derive(1, "chains", "test");
        let mut chains = Chains::default();
        let mut subjects = vec![Chain::EMPTY; 20];
        let mut models: Vec<Vec<u64>> = vec![Vec::new(); 20];
        let mut most = 0;
        for number in 0..20_000 {
            let which = random.below(20) as usize;
            if random.below(4) == 0 {
                chains.clear(&mut subjects[which]);
                models[which].clear();
            } else {
                chains.push(&mut subjects[which], number);
                models[which].push(number);
            }
            assert_eq!(chains.iter(subjects[which]).copied().collect::<Vec<_>>(), models[which]);
            assert_eq!(subjects[which].len(), models[which].len());
            most = most.max(models.iter().map(Vec::len).sum::<usize>());
        }
        for (subject, model) in subjects.iter().zip(&models) {
            assert_eq!(chains.iter(*subject).copied().collect::<Vec<_>>(), *model);
        }
        assert_eq!(chains.items.len(), most);
    }
}
