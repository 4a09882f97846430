//! The objects of a page.
//!
//! The first object is the document. Each other object is named by the document or, with a given probability, by an earlier object, as a script
//! names another. Sizes are lognormal, scaled to the page's total bytes. They come from a random stream that depends on the page's number only,
//! so that a page is the same in every run.

use alloc::vec::Vec;
use qdelay_core::Random;

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Bytes with headers; at least 1.
    pub bytes: u64,
    /// Index of the object that names this one, always smaller; 0 for the document itself.
    pub parent: usize,
}

/// Objects of a page, the document first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    objects: Vec<Object>,
}

/// Standard deviation of the natural logarithm of a size: the largest of 70 objects is then about 25 times the median.
const SPREAD: f64 = 1.3;

impl Page {
    /// Generates a page. `count`: objects, the document included; `bytes`: total bytes; `document`: bytes of the document; `nested`: share of
    /// objects named by an object other than the document, 0 to 1; `number`: seed of sizes and dependencies.
    pub fn synthetic(count: usize, bytes: u64, document: u64, nested: f64, number: u64) -> Page {
        let mut random = Random::derive(number, "page", "objects");
        let mut objects = Vec::with_capacity(count.max(1));
        objects.push(Object { bytes: document.max(1), parent: 0 });
        let weights: Vec<f64> = (1..count).map(|_| libm::exp(SPREAD * random.normal())).collect();
        let all: f64 = weights.iter().sum();
        let rest = bytes.saturating_sub(document) as f64;
        for (index, weight) in weights.iter().enumerate() {
            let is_nested = random.unit() < nested && index > 0;
            let parent = if is_nested { 1 + random.below(index as u64) as usize } else { 0 };
            objects.push(Object { bytes: (libm::round(rest * weight / all) as u64).max(1), parent });
        }
        Page { objects }
    }

    /// A page of given objects; `None` without objects, or if an object is not named by an earlier one.
    pub fn of_objects(objects: Vec<Object>) -> Option<Page> {
        let is_named = |(index, object): (usize, &Object)| object.parent < index.max(1) && object.bytes > 0;
        (!objects.is_empty() && objects.iter().enumerate().all(is_named)).then_some(Page { objects })
    }

    /// Objects of the page, the document first.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_bytes_and_objects() {
        let page = Page::synthetic(71, 2_652_000, 18_000, 0.3, 1);
        let bytes: u64 = page.objects().iter().map(|object| object.bytes).sum();
        assert_eq!((page.objects().len(), page.objects()[0].bytes), (71, 18_000));
        assert!(bytes.abs_diff(2_652_000) < 71, "{bytes}");
        let nested = page.objects().iter().filter(|object| object.parent > 0).count();
        assert!((10..35).contains(&nested), "{nested}");
        assert_eq!(Page::of_objects(page.objects().to_vec()), Some(page.clone()));
        assert_ne!(page, Page::synthetic(71, 2_652_000, 18_000, 0.3, 2));
        assert_eq!(Page::of_objects(alloc::vec![Object { bytes: 1, parent: 1 }]), None);
    }
}
