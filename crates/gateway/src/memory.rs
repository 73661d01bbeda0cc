//! Memory of all requests, in bytes: what a request needs is reserved before it is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory of a gateway.
#[derive(Clone, Debug)]
pub struct Memory {
    limit: usize,
    used: Arc<AtomicUsize>,
}

/// No memory is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory of the gateway is in use")]
pub struct Full;

impl Memory {
    /// Memory of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            used: Arc::default(),
        }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// A reservation of no bytes.
    pub fn reservation(&self) -> Reservation {
        Reservation {
            memory: self.clone(),
            bytes: 0,
        }
    }
}

/// Reserved bytes, released on drop.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    bytes: usize,
}

impl Reservation {
    /// Reserves more bytes.
    ///
    /// # Errors
    /// [`Full`]; what was reserved before stays reserved.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let Memory { limit, used } = &self.memory;
        let reserved = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|sum| sum <= limit)
        });
        reserved.map_err(|_| Full)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, Memory};

    #[test]
    fn a_reservation_ends_with_its_value() {
        let memory = Memory::new(100);
        let mut first = memory.reservation();
        assert_eq!(first.grow(60), Ok(()));
        let mut second = memory.reservation();
        assert_eq!(second.grow(41), Err(Full));
        assert_eq!(second.grow(40), Ok(()));
        drop(first);
        assert_eq!(memory.used(), 40);
        assert_eq!(second.grow(usize::MAX), Err(Full));
        drop(second);
        assert_eq!(memory.used(), 0);
    }
}
