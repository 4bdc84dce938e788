//! Fetches a page and does without a share of it: `fetch SOCKET ADDRESS:PORT PATH WANTED`. The page goes to standard output, with
//! zeros where bytes are missing, and a line about these to standard error.

use std::io::{self, Write as _};
use std::process::ExitCode;

use airwatt_partial::{PieceKind, RequiredShares, connect};

fn fetch(socket: &str, server: &str, path: &str, wanted: &str) -> io::Result<()> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, "expected ADDRESS:PORT and a per cent");
    let server = server.parse().map_err(|_| wrong(()))?;
    let shares =
        RequiredShares { wanted: wanted.parse().map_err(|_| wrong(()))?, ..RequiredShares::default() };
    let mut stream = connect(socket, server, shares)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    stream.end()?;
    let (mut out, mut bytes, mut missing) = (io::stdout().lock(), 0_u64, 0_u64);
    while let Some(piece) = stream.read_piece()? {
        match piece.kind {
            PieceKind::Data => {
                bytes += u64::from(piece.length);
                out.write_all(&piece.data)?;
            }
            PieceKind::Gap => missing += u64::from(piece.length),
            // Too late for what was written; a player would still use them.
            PieceKind::Late => {}
        }
    }
    writeln!(io::stderr(), "{bytes} bytes, of which {missing} were missing when they were due")
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, server, path, wanted] = &words[..] else {
        let _ = writeln!(io::stderr(), "usage: fetch SOCKET ADDRESS:PORT PATH WANTED");
        return ExitCode::from(2);
    };
    match fetch(socket, server, path, wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{socket}: {error}");
            ExitCode::FAILURE
        }
    }
}
