//! The kernel's own page of code, which tells the time without a system call: rustix, and libc itself, jump into it. Its
//! functions are made to ask the system, as they do on machines without such a page, so that [`crate::catch`] sees them.
//!
//! Layout: `elf(5)`; the names: `vdso(7)`. rr does the same to recordings (rr-debugger/rr, `src/preload/syscallbuf.c`).

use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym, c_char, c_long, c_void};
use std::{ffi::CStr, io, ops::Range, ptr};

#[cfg(target_arch = "x86_64")]
const ASKING: [(&CStr, c_long); 3] = [
    (c"__vdso_clock_gettime", libc::SYS_clock_gettime),
    (c"__vdso_gettimeofday", libc::SYS_gettimeofday),
    (c"__vdso_time", libc::SYS_time),
];
#[cfg(target_arch = "aarch64")]
const ASKING: [(&CStr, c_long); 2] =
    [(c"__kernel_clock_gettime", libc::SYS_clock_gettime), (c"__kernel_gettimeofday", libc::SYS_gettimeofday)];

/// Its arguments are not those of the system call; whoever hears that it is not there makes that one.
#[cfg(target_arch = "x86_64")]
const ABSENT: &CStr = c"__vdso_getrandom";
#[cfg(target_arch = "aarch64")]
const ABSENT: &CStr = c"__kernel_getrandom";

/// Code that makes this system call with the arguments that it is given, and returns the result.
#[cfg(target_arch = "x86_64")]
fn asks(number: c_long) -> Vec<u8> {
    // mov eax, number; syscall; ret
    [&[0xb8], &(number as u32).to_le_bytes()[..], &[0x0f, 0x05, 0xc3]].concat()
}
#[cfg(target_arch = "aarch64")]
fn asks(number: c_long) -> Vec<u8> {
    // mov x8, number; svc 0; ret
    [0xd280_0008 | (number as u32) << 5, 0xd400_0001, 0xd65f_03c0].map(u32::to_le_bytes).concat()
}

/// Code that returns `-ENOSYS`.
#[cfg(target_arch = "x86_64")]
fn is_absent() -> Vec<u8> {
    // mov rax, -ENOSYS; ret
    [&[0x48, 0xc7, 0xc0], &(-libc::ENOSYS).to_le_bytes()[..], &[0xc3]].concat()
}
#[cfg(target_arch = "aarch64")]
fn is_absent() -> Vec<u8> {
    // mov x0, -ENOSYS; ret
    [0x9280_0000 | (libc::ENOSYS as u32 - 1) << 5, 0xd65f_03c0].map(u32::to_le_bytes).concat()
}

/// Rewrites the page, in this process and in those that it makes. Without such a page, there is nothing to do.
///
/// # Errors
/// The system does not let the page be written; then the time that it tells escapes.
pub fn asks_the_system() -> io::Result<()> {
    // SAFETY: a number only.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    let Some(functions) = functions(base) else { return Ok(()) };
    let written: Vec<(usize, Vec<u8>)> = functions
        .into_iter()
        .filter_map(|(name, at)| match ASKING.iter().find(|(known, _)| *known == name) {
            Some((_, number)) => Some((at, asks(*number))),
            None => (name == ABSENT).then(|| (at, is_absent())),
        })
        .collect();
    write(&mapping(base)?, &written)
}

/// The functions of the page at this address, by name.
fn functions(base: usize) -> Option<Vec<(&'static CStr, usize)>> {
    if base == 0 {
        return None;
    }
    // SAFETY: the kernel says that an ELF image is mapped there, which stays mapped and unchanged until `write`.
    let header = unsafe { ptr::read(base as *const Elf64_Ehdr) };
    let segment = |place: usize| {
        let at = base + header.e_phoff as usize + place * size_of::<Elf64_Phdr>();
        // SAFETY: the header says so many segments are described there.
        unsafe { ptr::read(at as *const Elf64_Phdr) }
    };
    let segments: Vec<Elf64_Phdr> = (0..usize::from(header.e_phnum)).map(segment).collect();
    let of = |kind| segments.iter().find(move |segment| segment.p_type == kind);
    let loaded = of(libc::PT_LOAD)?;
    let moved = base.wrapping_add(loaded.p_offset as usize).wrapping_sub(loaded.p_vaddr as usize);
    let dynamic = moved.wrapping_add(of(libc::PT_DYNAMIC)?.p_vaddr as usize);
    let (mut names, mut symbols) = (None, None);
    for place in 0.. {
        // SAFETY: pairs of a tag and a value, up to the one whose tag is 0.
        let [tag, value] = unsafe { ptr::read((dynamic as *const [usize; 2]).add(place)) };
        match tag {
            0 => break,
            DT_STRTAB => names = Some(moved.wrapping_add(value)),
            DT_SYMTAB => symbols = Some(moved.wrapping_add(value)),
            _ => {}
        }
    }
    let (names, symbols) = names.zip(symbols)?;
    // Linkers put the names behind the symbols.
    let count = names.checked_sub(symbols)? / size_of::<Elf64_Sym>();
    let function = |place: usize| {
        // SAFETY: one of the symbols, and its name, which ends with a zero.
        let (symbol, name) = unsafe {
            let symbol = ptr::read((symbols as *const Elf64_Sym).add(place));
            (symbol, CStr::from_ptr((names + symbol.st_name as usize) as *const c_char))
        };
        (symbol.st_value != 0).then(|| (name, moved.wrapping_add(symbol.st_value as usize)))
    };
    Some((0..count).filter_map(function).collect())
}

const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;

/// Replaces the code at these addresses, which lie in this mapping. The kernel changes no part of it alone.
fn write(mapping: &Range<usize>, codes: &[(usize, Vec<u8>)]) -> io::Result<()> {
    let protect = |how| {
        // SAFETY: the mapping keeps its content, and nobody else runs meanwhile.
        match unsafe { libc::mprotect(mapping.start as *mut c_void, mapping.len(), how) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    for (at, code) in codes.iter().filter(|(at, code)| mapping.contains(at) && at + code.len() <= mapping.end) {
        // SAFETY: it can be written; every function there is longer than this code, as it does more.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), *at as *mut u8, code.len()) };
    }
    protect(libc::PROT_READ | libc::PROT_EXEC)
}

/// The mapping at this address.
fn mapping(base: usize) -> io::Result<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let range = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
    };
    maps.lines().filter_map(range).find(|range| range.start == base).ok_or_else(|| io::ErrorKind::NotFound.into())
}
