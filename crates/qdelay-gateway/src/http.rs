//! `GET /metrics` by HTTP.

use qdelay_terminal::live::http::{self, Answer, Request};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// Function that returns the page, or an error in one line.
pub type Page = dyn Fn() -> Result<String, String> + Send + Sync;

/// Serves `page` in threads of its own, for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub fn serve(listener: TcpListener, content_type: &'static str, page: Arc<Page>) -> io::Result<()> {
    let service = move |request: &Request| answer(request, content_type, &*page);
    http::serve(listener, "metrics", Arc::new(service))
}

fn answer(request: &Request, content_type: &'static str, page: &Page) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET" | "HEAD", "/metrics") => match page() {
            Ok(body) => Answer { status: "200 OK", content_type, body },
            Err(message) => Answer::plain("503 Service Unavailable", &message),
        },
        ("GET" | "HEAD", "/") => Answer::plain("200 OK", "qdelay gateway: /metrics"),
        ("GET" | "HEAD", _) => Answer::plain("404 Not Found", "not found; expected /metrics"),
        _ => Answer::plain("405 Method Not Allowed\r\nAllow: GET, HEAD", "expected GET or HEAD"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_get_the_expected_status() {
        let status = |method: &str, path: &str, page: &Page| {
            let request = Request { method: method.into(), path: path.into(), ..Request::default() };
            let answer = answer(&request, "text/x", page);
            (answer.status[..3].to_string(), answer.body)
        };
        let page = || Ok("page\n".to_string());
        let with = |code: &str, body: &str| (code.to_string(), body.to_string());
        assert_eq!(status("GET", "/metrics", &page), with("200", "page\n"));
        assert_eq!(status("GET", "/metrics", &|| Err("stopping".to_string())), with("503", "stopping\n"));
        assert_eq!(status("GET", "/metric", &page).0, "404");
        assert_eq!(status("HEAD", "/", &page).0, "200");
        assert_eq!(status("POST", "/metrics", &page).0, "405");
    }
}
