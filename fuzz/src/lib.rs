//! What targets share: numbers from the front of an input, and where a text is cut.

/// An input that is used up from the front; then everything is zero.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    data: &'a [u8],
}

impl<'a> Input<'a> {
    /// All of it.
    pub fn new(data: &'a [u8]) -> Input<'a> {
        Input { data }
    }
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        *first
    }
    /// The next two bytes.
    pub fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
    /// The next four bytes.
    pub fn long(&mut self) -> u32 {
        u32::from(self.word()) | u32::from(self.word()) << 16
    }
    /// A number whose size is spread over its logarithm, below 2 to the power of `bits`: a byte for the size, two for the rest.
    pub fn spread(&mut self, bits: u32) -> u64 {
        let shift = u32::from(self.byte()) % bits;
        (1 << shift | u64::from(self.word()) << shift >> 16) - u64::from(shift == 0)
    }
    /// The text up to the end of the line, which is passed over; `None` where it is no UTF-8.
    pub fn line(&mut self) -> Option<&'a str> {
        let end = self.data.iter().position(|&byte| byte == b'\n').unwrap_or(self.data.len());
        let (line, rest) = self.data.split_at(end);
        self.data = rest.get(1..).unwrap_or_default();
        std::str::from_utf8(line).ok()
    }
}

/// FNV-1a: a text says by itself where it is cut, so that a corpus holds plain files.
pub fn digest(text: &[u8]) -> u64 {
    let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Up to three places at which `text` is cut into chunks, in order.
pub fn cuts(text: &[u8]) -> Vec<usize> {
    let digest = digest(text);
    let place = |shift: u32| (digest >> shift) as usize % (text.len() + 1);
    let mut cuts: Vec<usize> = [0, 20, 40].into_iter().take((digest >> 60) as usize % 4).map(place).collect();
    cuts.sort_unstable();
    cuts
}

/// Books of packets: each ends once.
#[derive(Debug, Default)]
pub struct Books {
    ended: Vec<bool>,
    /// How many have ended.
    pub count: u64,
}

impl Books {
    /// The handle of a new packet.
    pub fn open(&mut self) -> u64 {
        self.ended.push(false);
        self.ended.len() as u64 - 1
    }
    /// The packet with this handle ends.
    pub fn end(&mut self, handle: u64) {
        let ended = &mut self.ended[handle as usize];
        assert!(!*ended, "packet {handle} ends twice");
        *ended = true;
        self.count += 1;
    }
    /// How many there are and have not ended.
    pub fn inside(&self) -> u64 {
        self.ended.len() as u64 - self.count
    }
}
