-- Numbers that a store on PostgreSQL accepted although they are not above the number before them, of the same resource.
-- A store that fences has none. Refused and repeated writes are in the audit as well, and are left out.
--
--     psql "$URL" -f protocols/real/sql/seq_rises.sql
--
-- The audit's ids rise in the order of each resource's decisions: they are drawn while its row is locked.
with audit as (
    select id, line::jsonb as decision from fenced_audit
), accepted as (
    select id,
           decision ->> 'resource' as resource,
           (decision ->> 'seq')::bigint as seq,
           decision ->> 'node' as node,
           (decision ->> 'token')::bigint as token
    from audit
    where decision ->> 'event' = 'apply' and decision ->> 'verdict' = 'ok'
), in_order as (
    select *, lag(seq) over decided as previous_seq, lag(node) over decided as previous_node,
           lag(token) over decided as previous_token
    from accepted
    window decided as (partition by resource order by id)
)
select id, resource, previous_seq, seq, previous_node, previous_token, node, token
from in_order
where seq <= previous_seq
order by id;
