//! Redis: commands in a script that compares the token first.

use super::{
    FenceError,
    common::{begin, of_resource, refused, sortable},
};
use crate::lead::{Fenced, Lead};
use redis::{Arg, FromRedisValue, Pipeline, RedisError, Value, aio::ConnectionLike, cmd};
use std::{fmt::Write, future::Future, time::Duration};

/// Passes if the resource's token is not higher, and not another leader's. Tokens are text of one length, since Lua's
/// numbers are exact up to 2^53 only.
const SEAL: &str = "\
local token = redis.call('GET', KEYS[1])
if token and (token > ARGV[1] or token == ARGV[1] and redis.call('GET', KEYS[2]) ~= ARGV[2]) then
  return {0}
end
if token ~= ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('SET', KEYS[2], ARGV[2])
end
";
const IS_DONE: &str = "if redis.call('EXISTS', KEYS[3]) == 1 then return {2} end\n";
/// After the commands: one that fails ends the script, and the request is not done then.
const DONE: &str = "redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3])\n";

/// Fenced commands, on any asynchronous connection.
///
/// The fence is as durable as Redis is: a server that has lost its last writes has also lost who wrote them. Its keys,
/// all of which begin with `fence:`, must not be evicted, so `maxmemory-policy` must be `noeviction`. On a cluster, all keys must be of one slot: use a resource's name with a hash tag, such as `{charges}`, in each.
pub trait FencedRedis {
    /// Carries out `commands` at once, in a script, unless a newer leader has sealed `resource`; the replies are those
    /// of all commands, so `T` is a tuple or a list, also for one; `ignore` is not heeded. A script is not a
    /// transaction: a command that fails ends it, and those before it have happened.
    ///
    /// The keys are `fence:token:RESOURCE` and `fence:holder:RESOURCE`. A command may have 200 words. The script's text
    /// depends on how many arguments each command has. Redis before 7.4 keeps the text of each script that it was
    /// sent, so do not give it ever new numbers of arguments.
    ///
    /// What it does not promise: that commands happen once. A client that asks again by itself, as that of a cluster
    /// does, may have them happen twice. For that there is [`FencedRedis::fenced_once`].
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of Redis. After an error of the connection the
    /// commands may have happened.
    fn fenced<T: FromRedisValue>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        commands: &Pipeline,
    ) -> impl Future<Output = Result<T, FenceError<RedisError>>> + Send;

    /// The same, unless `request` is done: then there is `None`. That is known for as long as `keep`, under the key
    /// `fence:done:RESOURCE/REQUEST`. A request of which a command fails is not done, so those before it happen again
    /// when it is made again.
    ///
    /// # Errors
    /// As for [`FencedRedis::fenced`]. After an error of the connection, ask again.
    fn fenced_once<T: FromRedisValue>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        keep: Duration,
        commands: &Pipeline,
    ) -> impl Future<Output = Result<Option<T>, FenceError<RedisError>>> + Send;
}

impl<C: ConnectionLike + Send> FencedRedis for C {
    async fn fenced<T: FromRedisValue>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        commands: &Pipeline,
    ) -> Result<T, FenceError<RedisError>> {
        let replies = run(self, lead, resource, None, commands).await?;
        // A request that has no name is never done.
        read(replies.unwrap_or_default())
    }

    async fn fenced_once<T: FromRedisValue>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        keep: Duration,
        commands: &Pipeline,
    ) -> Result<Option<T>, FenceError<RedisError>> {
        run(self, lead, resource, Some((request, keep)), commands).await?.map(read).transpose()
    }
}

fn read<T: FromRedisValue>(replies: Vec<Value>) -> Result<T, FenceError<RedisError>> {
    T::from_redis_value(Value::Array(replies)).map_err(|error| FenceError::Write(error.into()))
}

/// The replies; `None` if the request is done already.
async fn run(
    connection: &mut (impl ConnectionLike + Send),
    lead: &Lead<Fenced>,
    resource: &str,
    once: Option<(&str, Duration)>,
    commands: &Pipeline,
) -> Result<Option<Vec<Value>>, FenceError<RedisError>> {
    begin(lead)?;
    let mut eval = cmd("EVAL");
    eval.arg(script(once.is_some(), commands)).arg(if once.is_some() { 3 } else { 2 });
    eval.arg(format!("fence:token:{resource}")).arg(format!("fence:holder:{resource}"));
    if let Some((request, _)) = once {
        eval.arg(format!("fence:done:{}", of_resource(resource, request)));
    }
    eval.arg(sortable(lead.token())).arg(&*lead.holder);
    if let Some((_, keep)) = once {
        // Redis wants a positive number.
        eval.arg(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64 / 2));
    }
    for argument in commands.cmd_iter().flat_map(redis::Cmd::args_iter) {
        eval.arg(match argument {
            Arg::Simple(bytes) => bytes,
            _ => b"0",
        });
    }
    let mut answer: Vec<Value> = eval.query_async(connection).await.map_err(FenceError::Write)?;
    match answer.first() {
        Some(Value::Int(1)) => Ok(Some(answer.split_off(1))),
        Some(Value::Int(2)) => Ok(None),
        _ => refused(lead),
    }
}

fn script(once: bool, commands: &Pipeline) -> String {
    let mut script = SEAL.to_owned();
    if once {
        script.push_str(IS_DONE);
    }
    script.push_str("local replies = {1");
    let mut next = if once { 4 } else { 3 };
    for command in commands.cmd_iter() {
        let end = next + command.args_iter().len();
        let words: Vec<String> = (next..end).map(|number| format!("ARGV[{number}]")).collect();
        next = end;
        // Writing to a string does not fail.
        let _ = write!(script, ", redis.call({})", words.join(", "));
    }
    script.push_str("}\n");
    if once {
        script.push_str(DONE);
    }
    script.push_str("return replies\n");
    script
}
