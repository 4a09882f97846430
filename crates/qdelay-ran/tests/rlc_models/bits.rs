//! Fields of bits, written and read one bit at a time.

#[derive(Default)]
pub struct Writer {
    bits: Vec<bool>,
}
impl Writer {
    pub fn put(&mut self, value: u64, bits: u32) -> &mut Writer {
        assert!(bits == 64 || value < 1 << bits, "{value} in {bits} bits");
        self.bits.extend((0..bits).rev().map(|bit| value >> bit & 1 == 1));
        self
    }
    /// The bits, padded with zeros to whole bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let byte =
            |bits: &[bool]| (0..8).fold(0u8, |byte, i| byte << 1 | u8::from(bits.get(i) == Some(&true)));
        self.bits.chunks(8).map(byte).collect()
    }
}

pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}
impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    pub fn get(&mut self, bits: u32) -> u64 {
        (0..bits).fold(0, |value, _| {
            let bit = self.bytes[self.at / 8] >> (7 - self.at % 8) & 1;
            self.at += 1;
            value << 1 | u64::from(bit)
        })
    }
    /// The remaining bytes, from the next whole byte on.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at.div_ceil(8)..]
    }
}
