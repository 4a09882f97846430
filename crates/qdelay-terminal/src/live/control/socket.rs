//! File of the control socket: private from its creation on, and removed when its process ends.

use super::connect::connect;
use crate::error::Failure;
use rustix::fs::{Gid, Mode};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// Path and permissions of the socket.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Path of the socket.
    pub path: PathBuf,
    /// Permissions of the file: users who may write to it may connect.
    pub mode: u32,
    /// Group of the file, by name or number; `None` keeps the process's group.
    pub group: Option<String>,
}

impl SocketOptions {
    /// Options of a socket for the process's user only (mode 0600).
    pub fn private(path: &Path) -> SocketOptions {
        SocketOptions { path: path.to_path_buf(), mode: 0o600, group: None }
    }
}

/// A listening socket. Dropping it removes its file, unless another file has replaced it.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: UnixListener,
    file: SocketFile,
}

/// Path of the file, and its device and inode.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Socket {
    /// Path of the socket.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Creates the socket. The file of a process that has ended is replaced.
    ///
    /// # Errors
    /// Another process serves the socket; the path is a file of another type; or the socket cannot be created.
    pub fn open(options: &SocketOptions) -> Result<Socket, Failure> {
        let fail = |message: String| Failure::input(options.path.display(), message);
        let group = options.group.as_deref().map(group).transpose().map_err(&fail)?;
        make_way(&options.path).map_err(&fail)?;
        let (listener, identity) = bind(options, group).map_err(|error| match error.kind() {
            ErrorKind::NotFound => fail("the folder does not exist; expected an existing folder".to_string()),
            ErrorKind::AddrInUse => {
                fail("another process has just created this socket; expected a new name".to_string())
            }
            _ => fail(format!("the control socket cannot be created: {error}")),
        })?;
        Ok(Socket { listener, file: SocketFile { path: options.path.clone(), identity } })
    }

    pub(super) fn into_parts(self) -> (UnixListener, SocketFile) {
        (self.listener, self.file)
    }
}

fn bind(options: &SocketOptions, group: Option<Gid>) -> io::Result<(UnixListener, (u64, u64))> {
    let path = &options.path;
    let address = SocketAddrUnix::new(path)
        .map_err(|_| io::Error::other("its name is too long; expected at most 107 bytes"))?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The file is created with these permissions, so that other users can connect at no time.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &address)?;
    let identity = identity(path)?;
    let finish = || {
        if group.is_some() {
            rustix::fs::chown(path, None, group)?;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(options.mode))?;
        Ok(rustix::net::listen(&socket, BACKLOG)?)
    };
    if let Err(error) = finish() {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok((UnixListener::from(socket), identity))
}

/// Removes the socket of a process that has ended.
fn make_way(path: &Path) -> Result<(), String> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        // Other errors are reported when the socket is created.
        Err(_) => return Ok(()),
    };
    if !found.file_type().is_socket() {
        return Err("exists and is not a socket; expected a new name".to_string());
    }
    match connect(path, Duration::ZERO) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err("another process serves this socket; expected a new name".to_string())
        }
        Ok(_) => Err("another process serves this socket; expected a new name".to_string()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)
            .map_err(|error| format!("the socket of a process that has ended cannot be removed: {error}")),
        Err(error) => Err(format!("exists and cannot be examined: {error}; expected a new name")),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.symlink_metadata().map(|found| (found.dev(), found.ino()))
}

/// Converts a group name or number to its ID.
fn group(text: &str) -> Result<Gid, String> {
    if let Ok(number) = text.parse::<u32>()
        && number != u32::MAX
    {
        return Ok(Gid::from_raw(number));
    }
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let number = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(text)).then(|| fields.nth(1))?.and_then(|number| number.parse().ok())
    });
    number
        .map(Gid::from_raw)
        .ok_or(format!("group: '{text}' is unknown; expected a group of /etc/group, or a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_name_and_number() {
        assert_eq!(group("root").unwrap().as_raw(), 0);
        assert_eq!(group("4711").unwrap().as_raw(), 4711);
        assert!(group("no such group").unwrap_err().contains("expected"));
    }
}
