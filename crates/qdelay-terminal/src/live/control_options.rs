//! The options of commands whose path can be changed while it runs, and the servers of such requests.

use super::adjust::Adjuster;
#[cfg(target_os = "linux")]
use super::control::{Server, Socket, SocketOptions};
use super::http_control::{self, HttpControl, Service};
use crate::error::Failure;
use crate::output::eprintln_line;
use clap::Args;
use qdelay_emu::control::Control;
use std::io;
use std::net::{SocketAddr, TcpListener};
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::Command;

/// Environment variable of a command with the path of the control socket.
#[cfg(target_os = "linux")]
const CONTROL: &str = "QDELAY_CONTROL";
/// Environment variables of a command with the address of the control by HTTP, such as `http://127.0.0.1:8474`, and its token.
const HTTP: &str = "QDELAY_HTTP";
const TOKEN: &str = "QDELAY_TOKEN";

/// Places at which a running path accepts requests.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlOptions {
    /// Accept requests on this Unix socket: 'qdelay live SOCKET' shows the link's state, 'qdelay set SOCKET loss=3%' and
    /// 'qdelay cut SOCKET' change it (docs/live.md)
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Accept the same changes by HTTP at this loopback address, such as 127.0.0.1:8474 or 127.0.0.1:0; the address and the
    /// token that each request needs are printed (docs/live.md)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<SocketAddr>,
}

/// A listening HTTP server that is not served yet.
#[derive(Debug)]
pub struct HttpListener {
    /// At the same address, in the namespaces of those who may ask.
    listeners: Vec<TcpListener>,
    control: HttpControl,
}

/// Servers of requests. Dropping them removes the socket.
#[derive(Debug, Default)]
pub struct Servers {
    #[cfg(target_os = "linux")]
    _socket: Option<Server>,
}

/// Places that are open and not served yet.
#[derive(Debug, Default)]
pub struct Places {
    #[cfg(target_os = "linux")]
    socket: Option<Socket>,
    http: Option<HttpListener>,
}

impl ControlOptions {
    /// The name of an option that was given.
    pub fn given(&self) -> Option<&'static str> {
        #[cfg(target_os = "linux")]
        if self.control.is_some() {
            return Some("--control");
        }
        self.http.map(|_| "--http")
    }

    /// Listens at the address of HTTP, which is one of the current namespace.
    ///
    /// # Errors
    /// An address that is not a loopback address, or a port that is in use.
    pub fn listen(&self) -> Result<Option<HttpListener>, Failure> {
        let listen = |address| {
            http_control::listen(address)
                .map(|(listener, control)| HttpListener { listeners: vec![listener], control })
        };
        self.http.map(listen).transpose()
    }

    /// Opens the socket, after [`listen`](ControlOptions::listen) and before the path exists.
    ///
    /// # Errors
    /// Another process serves the socket; the path is a file of another type; or the socket cannot be created.
    pub fn open(&self, http: Option<HttpListener>) -> Result<Places, Failure> {
        Ok(Places {
            #[cfg(target_os = "linux")]
            socket: (self.control.as_deref().map(|path| Socket::open(&SocketOptions::private(path))))
                .transpose()?,
            http,
        })
    }
}

impl HttpListener {
    /// Lets `bind` listen at the same address in another network namespace, whose programs need no way through the path then.
    ///
    /// # Errors
    /// The address cannot be used there.
    pub fn listen_also(
        &mut self,
        bind: impl FnOnce(SocketAddr) -> io::Result<TcpListener>,
    ) -> Result<(), Failure> {
        let address = self.control.address;
        let listener = bind(address).map_err(|error| {
            let message =
                format!("cannot listen at {address} behind the link: {error}; expected another port");
            Failure::input("--http", message)
        })?;
        self.listeners.push(listener);
        Ok(())
    }
}

impl Places {
    /// Gives a command the path of the socket, and the address and token of HTTP.
    pub fn set_environment(&self, command: &mut Command) {
        #[cfg(target_os = "linux")]
        if let Some(socket) = &self.socket {
            let path = socket.path();
            command.env(CONTROL, std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
        }
        if let Some(HttpListener { control, .. }) = &self.http {
            command.env(HTTP, format!("http://{}", control.address)).env(TOKEN, &control.token);
        }
    }

    /// Serves requests about the path that `control` refers to, and prints address and token of HTTP.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(self, control: &Control, adjuster: &Adjuster) -> io::Result<Servers> {
        if let Some(HttpListener { listeners, control: http }) = self.http {
            eprintln_line(&format!("control: http://{}, Authorization: Bearer {}", http.address, http.token));
            http_control::serve(listeners, Service::new(http, control.clone(), adjuster.clone()))?;
        }
        Ok(Servers {
            #[cfg(target_os = "linux")]
            _socket: (self.socket)
                .map(|socket| socket.serve(control.clone(), None, Some(adjuster.clone())))
                .transpose()?,
        })
    }
}
