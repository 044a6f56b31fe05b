//! Text forms of the services' requests and replies, for transcripts and scripts.

pub mod etcd;

use protocols::service::redis::{ACQUIRE_FENCED, COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, HAND_OVER, LOCK};
use sim::service::redis::{resp::Resp, wire::split};

// Redis: commands quoted as on its command line, replies prefixed by their type's sign.

/// The scripts by name: `@name` stands for the text, `#name` for its digest.
pub const SCRIPTS: [(&str, &str); 8] = [
    ("compare-and-pexpire", COMPARE_AND_PEXPIRE),
    ("compare-and-delete", COMPARE_AND_DELETE),
    ("acquire-fenced", ACQUIRE_FENCED),
    ("lock", LOCK),
    ("hand-over", HAND_OVER),
    ("rslock-extend", RSLOCK_EXTEND),
    ("redlock-unlock", REDLOCK_UNLOCK),
    ("armature-elect", ARMATURE_ELECT),
];

/// rslock 0.10.0, `lock.rs`.
const RSLOCK_EXTEND: &str = r#"
if redis.call("get", KEYS[1]) ~= ARGV[1] then
  return 0
else
  if redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) ~= nil then
    return 1
  else
    return 0
  end
end
"#;

/// redlock 2.0.0, `redlock.rs`.
const REDLOCK_UNLOCK: &str = r"if redis.call('get',KEYS[1]) == ARGV[1] then
                                return redis.call('del',KEYS[1])
                              else
                                return 0
                              end";

/// armature-distributed 0.4.0, `leader.rs`.
const ARMATURE_ELECT: &str = r#"
            local current = redis.call("get", KEYS[1])
            if current == false or current == ARGV[1] then
                redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
                return 1
            else
                return 0
            end
        "#;

/// The words of a command.
pub fn command(text: &str) -> Vec<Vec<u8>> {
    split(text.as_bytes()).expect("quotes are closed").into_iter().map(script).collect()
}

fn script(arg: Vec<u8>) -> Vec<u8> {
    for (name, text) in SCRIPTS {
        if arg.strip_prefix(b"@") == Some(name.as_bytes()) {
            return text.as_bytes().to_vec();
        }
        if arg.strip_prefix(b"#") == Some(name.as_bytes()) {
            return sha1_smol::Sha1::from(text).digest().to_string().into_bytes();
        }
    }
    arg
}

/// A reply of the model as text.
pub fn show(reply: &Resp) -> String {
    let list = |items: &[Resp]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match reply {
        Resp::Status(text) => format!("+{text}"),
        Resp::Error(text) => format!("-{}", text.trim_matches(['\r', '\n']).replace(['\r', '\n'], " ")),
        Resp::Integer(value) => format!(":{value}"),
        Resp::Bulk(bytes) => show_bulk(bytes),
        Resp::Text(text) => format!("+{text}"),
        Resp::Nil | Resp::NilArray => "nil".into(),
        Resp::Array(items) => format!("[{}]", list(items)),
        Resp::Map(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{}: {}", show(key), show(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn show_bulk(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

/// Decodes the reply at the start of `bytes` into the same form, with its length; `None` if more bytes are needed.
pub fn decode(bytes: &[u8]) -> Option<(String, usize)> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let (sign, line, mut at) = (bytes[0], &bytes[1..end], end + 2);
    let text = String::from_utf8_lossy(line).into_owned();
    let count = || text.parse::<i64>().unwrap_or_else(|_| panic!("not RESP: {:?}", String::from_utf8_lossy(bytes)));
    let mut items = |count: i64| {
        let mut items = Vec::new();
        for _ in 0..count {
            let (item, length) = decode(&bytes[at..])?;
            at += length;
            items.push(item);
        }
        Some(items)
    };
    let shown = match sign {
        b'+' => format!("+{text}"),
        b'-' => format!("-{text}"),
        b':' => format!(":{text}"),
        b'_' => "nil".into(),
        b'$' | b'*' if count() < 0 => "nil".into(),
        b'$' => {
            let length = count() as usize;
            let bulk = bytes.get(at..at + length + 2)?;
            at += length + 2;
            show_bulk(&bulk[..length])
        }
        b'*' => format!("[{}]", items(count())?.join(" ")),
        b'%' => {
            let items = items(2 * count())?;
            let pairs: Vec<_> = items.chunks(2).map(|pair| format!("{}: {}", pair[0], pair[1])).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        _ => panic!("not RESP: {:?}", String::from_utf8_lossy(bytes)),
    };
    Some((shown, at))
}
