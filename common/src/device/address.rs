//! Addresses of device memory. Plans bind addresses to kernel arguments, and copies use addresses
//! as sources and destinations.

use std::{marker::PhantomData, ops::Range};

use crate::{Error, Result};

/// A range of bytes on a device, borrowed from its owner. Only the owner of the memory can create
/// an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'m> {
    number: u64,
    bytes: u64,
    /// A number that identifies the device while the memory is live.
    device: usize,
    memory: PhantomData<&'m ()>,
}

impl<'m> Address<'m> {
    /// Returns the address of the owner's entire memory.
    pub(super) fn of<M>(_: &'m M, number: u64, bytes: u64, device: usize) -> Address<'m> {
        Address { number, bytes, device, memory: PhantomData }
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Returns the range without its first `bytes` bytes; the result is empty if no bytes remain.
    pub fn skip(self, bytes: u64) -> Address<'m> {
        let bytes = bytes.min(self.bytes);
        Address { number: self.number + bytes, bytes: self.bytes - bytes, ..self }
    }

    /// Returns the address of the first `bytes` bytes. Fails if the range has fewer than `bytes`
    /// bytes.
    pub fn first(self, bytes: u64) -> Result<Address<'m>> {
        if bytes <= self.bytes {
            return Ok(Address { bytes, ..self });
        }
        let what = if bytes == 1 { "byte does" } else { "bytes do" };
        Err(Error::Usage(format!(
            "{bytes} {what} not fit into device memory of {} bytes: use fewer bytes, or allocate more memory",
            self.bytes
        )))
    }

    /// Returns the addresses at the ends of the range as numbers, which a trace shows. These
    /// numbers cannot be used to access the memory.
    pub fn numbers(self) -> Range<u64> {
        self.number..self.number + self.bytes
    }

    /// Returns the address as a number. Fails if the memory belongs to another device.
    pub(super) fn on(self, device: usize) -> Result<u64> {
        if self.device == device {
            return Ok(self.number);
        }
        Err(Error::Usage(format!(
            "memory of {} bytes on one device was passed to another device: allocate memory and load kernels on the launching device",
            self.bytes
        )))
    }

    /// Returns the remainder of the address modulo `alignment`, in bytes.
    pub(crate) fn misalignment(self, alignment: u64) -> u64 {
        self.number % alignment
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Result,
        device::{Choice, Device, Memory, Ptx, Settings},
        plan::{Call, Value},
    };

    const STORE: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry store(.param .u64 to)
{
    .reg .u64 %to;
    ld.param.u64 %to, [to];
    st.global.u32 [%to], 7;
    ret;
}
";

    fn device() -> Device {
        Device::open(Choice::Simt, &Settings::default()).unwrap()
    }

    fn refused<T>(tried: Result<T>, sentence: &str) {
        let error = tried.err().expect("it is refused").to_string();
        assert!(error.contains(sentence), "{error}");
    }

    #[test]
    fn accesses_out_of_bounds_are_refused_with_both_sizes() {
        let device = device();
        let memory = device.alloc("sums", 12).unwrap();
        let all = memory.address();
        assert_eq!(all.first(12).unwrap().bytes(), 12);
        assert_eq!(all.first(8).unwrap().bytes(), 8);
        refused(all.first(13), "13 bytes do not fit into device memory of 12");
        assert_eq!(all.skip(8).bytes(), 4);
        refused(all.skip(8).first(5), "5 bytes do not fit into device memory of 4");
        assert_eq!(all.skip(u64::MAX).bytes(), 0);
        refused(device.write(&memory, 8, &[0; 5]), "5 bytes do not fit into device memory of 4");
        refused(device.write(&memory, u64::MAX, &[0]), "1 byte does not fit");
        refused(device.read(&memory, &mut [0; 16]), "16 bytes do not fit");
        device.write(&memory, 8, &[0; 4]).unwrap();
    }

    /// Two interpreters assign the same addresses, so only the owner distinguishes their memory.
    #[test]
    fn memory_of_another_device_is_refused() {
        let (device, other) = (device(), device());
        let own = device.alloc("own", 4).unwrap();
        let foreign = other.alloc("foreign", 4).unwrap();
        device.write(&own, 0, &[1; 4]).unwrap();
        let sentence = "memory of 4 bytes on one device was passed to another device";
        refused(device.write(&foreign, 0, &[2; 4]), sentence);
        refused(device.read(&foreign, &mut [0; 4]), sentence);
        refused(device.fill(&foreign, 2), sentence);
        refused(device.poison(&foreign), sentence);
        let (source, origin, file) = (String::new(), String::new(), "store.ptx".into());
        let program = device.load(&Ptx { text: STORE.into(), source, origin, file }).unwrap();
        let store = |memory: &Memory| {
            let args = vec![Value::Address(memory.address())];
            let entry = "store".into();
            device.launch(
                &program,
                &Call { entry, grid: 1, block: 1, cluster: 1, args, ..Call::default() },
            )
        };
        refused(store(&foreign), sentence);
        let mut bytes = [0; 4];
        device.read(&own, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4], "memory at the same address is unchanged");
        store(&own).unwrap();
        device.read(&own, &mut bytes).unwrap();
        assert_eq!(u32::from_le_bytes(bytes), 7);
    }
}
