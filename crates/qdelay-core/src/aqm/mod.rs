//! Queue management laws: each decides about a packet from numbers and owns none.
