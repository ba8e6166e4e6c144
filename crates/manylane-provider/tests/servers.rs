//! Servers with ordinary certificates that have the provider in them, under load, through reloads: `openssl s_server`, nginx.

mod support;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use support::{Place, SIDES, Side, newer, succeeded};

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // nginx's master ends its workers when it is asked to, not when it is killed.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && !matches!(self.0.try_wait(), Ok(Some(_))) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

fn wait_for(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on port {port}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn has_provider(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("manylane"))
}

/// Asks for a page; what the server says.
fn page(place: &Place, side: Side, port: u16, words: &str) -> String {
    let mut child = place
        .command(side, support::program())
        .args(["s_client", "-quiet", "-ign_eof", "-connect", &format!("127.0.0.1:{port}")])
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(b"GET / HTTP/1.0\r\n\r\n");
    let mut said = String::new();
    let _ = child.stdout.take().expect("a pipe").read_to_string(&mut said);
    drop(stdin);
    let _ = child.wait();
    said
}

fn certificate(place: &Place, kind: &str) {
    place.openssl(Side::Ours, &format!("genpkey {kind} -out server.pem"));
    place.openssl(
        Side::Ours,
        "req -config openssl.cnf -new -x509 -key server.pem -subj /CN=localhost -days 9 -out server-cert.pem",
    );
}

fn s_server(place: &Place, side: Side, words: &str) -> (Server, u16) {
    let port = free_port();
    let child = place
        .command(side, support::program())
        .args(["s_server", "-www", "-quiet", "-accept", &format!("127.0.0.1:{port}")])
        .args(["-cert", "server-cert.pem", "-key", "server.pem"])
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs");
    wait_for(port);
    (Server(child), port)
}

#[test]
fn s_server_and_s_client() {
    let place = Place::new();
    for kind in [
        "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
        "-algorithm EC -pkeyopt ec_paramgen_curve:P-256",
    ] {
        certificate(&place, kind);
        for side in SIDES {
            let (server, port) = s_server(&place, side, "");
            for (client, words) in
                [(Side::Ours, "-tls1_3"), (Side::Theirs, "-tls1_3"), (Side::Ours, "-tls1_2")]
            {
                let said = page(
                    &place,
                    client,
                    port,
                    &format!("{words} -CAfile server-cert.pem -verify_return_error"),
                );
                assert!(said.contains("HTTP/1.0 200 ok"), "{said}");
            }
            assert_eq!(has_provider(server.0.id()), side == Side::Ours);
        }
    }
}

/// TLS 1.3 with RFC 8998: SM2 certificates and key exchange, SM4-GCM and SM3, each side with either implementation.
#[test]
#[ignore = "needs OpenSSL 4, which `cargo xtask provider --newer` builds"]
fn tls_1_3_with_sm2_sm3_and_sm4() {
    assert!(newer().is_some(), "MANYLANE_OPENSSL says where it is");
    let place = Place::new();
    certificate(&place, "-algorithm SM2");
    let suite = "-tls1_3 -ciphersuites TLS_SM4_GCM_SM3 -groups curveSM2 -sigalgs sm2sig_sm3";
    for side in SIDES {
        let (_server, port) = s_server(&place, side, suite);
        for client in SIDES {
            let words = format!("{suite} -CAfile server-cert.pem -verify_return_error");
            let said = page(&place, client, port, &words);
            assert!(
                said.contains("HTTP/1.0 200 ok") && said.contains("TLS_SM4_GCM_SM3"),
                "{side:?} {client:?}: {said}"
            );
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn nginx_with_reloads() {
    let place = Place::new();
    certificate(&place, "-algorithm EC -pkeyopt ec_paramgen_curve:P-256");
    let port = free_port();
    let dir = place.path("");
    let dir = dir.to_str().expect("UTF-8").trim_end_matches('/');
    place.write(
        "nginx.conf",
        NGINX.replace("DIR", dir).replace("PORT", &port.to_string()).as_bytes(),
    );
    let child = place
        .command(Side::Ours, "/usr/sbin/nginx")
        .args(["-p", dir, "-c", "nginx.conf", "-e", "error.log"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(place.path("stderr")).expect("a file"))
        .spawn()
        .expect("nginx runs");
    let server = Server(child);
    wait_for(port);
    // The port is open before there are workers.
    let deadline = Instant::now() + Duration::from_secs(60);
    while children(server.0.id()).len() < 2 {
        assert!(Instant::now() < deadline, "nginx has no workers");
        thread::sleep(Duration::from_millis(20));
    }
    let before = children(server.0.id());
    assert!(before.iter().all(|worker| has_provider(*worker)), "{before:?}");
    let load = || {
        (0..10).for_each(|i| {
            let words = if i % 2 == 0 { "-tls1_3" } else { "-tls1_2" };
            let said = page(&place, SIDES[i / 2 % 2], port, words);
            assert!(said.contains("200 OK") && said.contains("a page"), "{i}: {said}");
        });
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(load);
        }
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(200));
            let done = Command::new("kill").args(["-HUP", &server.0.id().to_string()]).output();
            succeeded("kill -HUP", &done.expect("kill runs"));
        }
    });
    // Old workers end when their last connections do.
    let deadline = Instant::now() + Duration::from_secs(60);
    while children(server.0.id()).iter().any(|worker| before.contains(worker)) {
        assert!(Instant::now() < deadline, "workers from before the reloads are left");
        thread::sleep(Duration::from_millis(50));
    }
    load();
    let after = children(server.0.id());
    assert!(!after.is_empty() && after.iter().all(|worker| has_provider(*worker)), "{after:?}");
    let errors = String::from_utf8_lossy(&place.read("error.log")).into_owned();
    for word in ["[alert]", "[emerg]", "[crit]", "signal 11", "signal 6"] {
        assert!(!errors.contains(word), "{errors}");
    }
}

const NGINX: &str = "\
daemon off;
master_process on;
worker_processes 2;
pid DIR/nginx.pid;
error_log DIR/error.log notice;
events {
    worker_connections 64;
}
http {
    access_log off;
    client_body_temp_path DIR/body;
    proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi;
    scgi_temp_path DIR/scgi;
    server {
        listen 127.0.0.1:PORT ssl;
        ssl_certificate DIR/server-cert.pem;
        ssl_certificate_key DIR/server.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        location / {
            return 200 'a page';
        }
    }
}
";
