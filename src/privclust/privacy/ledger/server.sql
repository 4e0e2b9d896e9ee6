-- A ledger on a PostgreSQL server. {schema} is replaced by the name of the schema it is made in.
--
-- Its owner creates data sets by writing into the table. Every other role writes through the
-- verbs below, which run with the owner's rights, trust nothing they are given, and check in the
-- database what the library checks before: no role gets more of a budget than its owner gave.
-- Nobody can put functions of their own in the place of these: names are qualified, the search path
-- is fixed, arguments have exactly the declared types, and a schema in which roles other than the
-- owner may create is refused.

CREATE TABLE {schema}.privclust_entries (
    number bigint PRIMARY KEY,
    kind text NOT NULL,
    label text NOT NULL,
    run text NOT NULL,
    slot text NOT NULL,
    quanta bigint GENERATED ALWAYS AS (CASE WHEN kind IN ('reserve', 'claim')
        THEN (body::jsonb #>> '{spend,quanta}')::bigint END) STORED,
    slack float8 GENERATED ALWAYS AS (CASE WHEN kind IN ('reserve', 'claim')
        THEN (body::jsonb #>> '{spend,slack}')::float8 END) STORED,
    tail float8 GENERATED ALWAYS AS (CASE WHEN kind IN ('reserve', 'claim')
        THEN (body::jsonb #>> '{spend,tail}')::float8 END) STORED,
    pure bigint GENERATED ALWAYS AS (CASE WHEN kind IN ('reserve', 'claim')
        THEN (body::jsonb #>> '{spend,pure}')::bigint END) STORED,
    body text NOT NULL,
    fingerprint bytea NOT NULL,
    hash text NOT NULL,
    UNIQUE (kind, label, run, slot),
    CHECK (kind NOT IN ('reserve', 'claim')
        OR coalesce(quanta >= 0 AND slack >= 0 AND tail >= 0 AND coalesce(pure, 0) >= 0, false))
);
CREATE INDEX privclust_entries_run ON {schema}.privclust_entries (run);

CREATE FUNCTION {schema}.privclust_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a ledger is only ever appended to'; END $$;
CREATE TRIGGER privclust_append_only BEFORE UPDATE OR DELETE OR TRUNCATE
ON {schema}.privclust_entries FOR EACH STATEMENT EXECUTE FUNCTION {schema}.privclust_refuse();

-- Costs: what a Spend is in the library.

CREATE TYPE {schema}.privclust_cost AS (quanta numeric, slack float8, tail float8, pure numeric);

CREATE FUNCTION {schema}.privclust_within(
    cost {schema}.privclust_cost, allowance {schema}.privclust_cost
) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        cost.quanta <= allowance.quanta AND cost.slack <= allowance.slack
        AND cost.tail <= allowance.tail
        AND (allowance.pure IS NULL OR cost.pure <= allowance.pure), false)
$$;

CREATE FUNCTION {schema}.privclust_cost_of(spend jsonb)
RETURNS {schema}.privclust_cost LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(
        jsonb_typeof(spend) = 'object'
        AND spend - ARRAY['quanta', 'slack', 'tail', 'pure'] = '{}'
        AND jsonb_typeof(spend -> 'quanta') = 'number' AND spend ->> 'quanta' ~ '^[0-9]{1,19}$'
        AND jsonb_typeof(spend -> 'slack') = 'number' AND (spend ->> 'slack')::float8 >= 0
        AND jsonb_typeof(spend -> 'tail') = 'number' AND (spend ->> 'tail')::float8 >= 0
        AND (jsonb_typeof(spend -> 'pure') = 'null'
            OR (jsonb_typeof(spend -> 'pure') = 'number' AND spend ->> 'pure' ~ '^[0-9]{1,19}$')),
        false)
    THEN
        RETURN ROW(
            (spend ->> 'quanta')::numeric, (spend ->> 'slack')::float8,
            (spend ->> 'tail')::float8, (spend ->> 'pure')::numeric
        )::{schema}.privclust_cost;
    END IF;
    RAISE EXCEPTION 'this is not a cost';
END $$;

-- What the runs on a data set, or those of one period, take from its budget beside a new one:
-- what they reserved, and of runs that have ended what their claims cost together.
CREATE FUNCTION {schema}.privclust_committed(
    the_label text, the_period text, added {schema}.privclust_cost
) RETURNS {schema}.privclust_cost LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH runs AS (
        SELECT run, EXISTS (
            SELECT FROM {schema}.privclust_entries AS ending
            WHERE ending.kind = 'close' AND ending.run = beginning.run) AS ended
        FROM {schema}.privclust_entries AS beginning
        WHERE kind = 'reserve' AND label = the_label
        AND (the_period IS NULL OR body::jsonb #>> '{facts,period}' = the_period)
    ), costs AS (
        SELECT quanta, slack, tail, pure FROM {schema}.privclust_entries JOIN runs USING (run)
        WHERE kind = CASE WHEN ended THEN 'claim' ELSE 'reserve' END
        UNION ALL SELECT added.quanta, added.slack, added.tail, added.pure
    )
    SELECT ROW(
        sum(quanta), sum(slack), sum(tail), CASE WHEN count(pure) = count(*) THEN sum(pure) END
    )::{schema}.privclust_cost FROM costs
$$;

-- The journal: one writer at a time, entries numbered and chained by their hashes.

CREATE FUNCTION {schema}.privclust_lock() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    other text;
BEGIN
    SELECT rolname INTO other FROM pg_roles WHERE rolcanlogin AND NOT rolsuper
        AND NOT pg_has_role(oid, current_user, 'MEMBER')
        AND oid <> (SELECT datdba FROM pg_database WHERE datname = current_database())
        AND has_schema_privilege(oid, '{schema}'::regnamespace, 'CREATE') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'role "%" may create functions in schema {schema}, which could take the '
            'place of the ledger''s own. Have its owner REVOKE CREATE ON SCHEMA {schema} FROM '
            'PUBLIC, or from that role.', other;
    END IF;
    -- A snapshot from before the lock would not show what others were charged in the meantime.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a ledger is written in transactions of isolation READ COMMITTED';
    END IF;
    LOCK TABLE {schema}.privclust_entries IN EXCLUSIVE MODE;
END $$;

CREATE FUNCTION {schema}.privclust_chain(
    kind text, label text, run text, slot text, body text, fingerprint bytea
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last record;
    place bigint;
    hashed bytea := '';
    part text;
BEGIN
    PERFORM {schema}.privclust_lock();
    SELECT entry.number, entry.hash INTO last
    FROM {schema}.privclust_entries AS entry ORDER BY entry.number DESC LIMIT 1;
    place := coalesce(last.number, 0) + 1;
    FOREACH part IN ARRAY ARRAY[place::text, coalesce(last.hash, ''), kind, label, run, slot, body]
    LOOP
        hashed := hashed || convert_to(octet_length(convert_to(part, 'UTF8')) || ':', 'UTF8')
            || convert_to(part, 'UTF8');
    END LOOP;
    INSERT INTO {schema}.privclust_entries
        (number, kind, label, run, slot, body, fingerprint, hash) VALUES
        (place, kind, label, run, slot, body, fingerprint, encode(sha256(hashed), 'hex'));
END $$;

-- The beginning of a run that a role may go on with: its own, or any if it owns the ledger.
CREATE FUNCTION {schema}.privclust_own_run(the_run text)
RETURNS {schema}.privclust_entries LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beginning {schema}.privclust_entries;
    author text;
BEGIN
    PERFORM {schema}.privclust_lock();
    SELECT * INTO beginning FROM {schema}.privclust_entries AS entry
    WHERE entry.kind = 'reserve' AND entry.run = the_run;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the ledger knows no run ''%''.', the_run;
    END IF;
    author := beginning.body::jsonb ->> 'role';
    IF author IS DISTINCT FROM session_user AND NOT pg_has_role(session_user, current_user, 'MEMBER')
    THEN
        RAISE EXCEPTION 'run % belongs to role "%", and this is role "%". Ask that role, or the '
            'ledger''s owner, to resume or close it.', the_run, author, session_user;
    END IF;
    RETURN beginning;
END $$;

-- The verbs.

CREATE FUNCTION {schema}.privclust_reserve(the_label text, the_run text, the_body jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cost {schema}.privclust_cost := {schema}.privclust_cost_of(the_body -> 'spend');
    facts jsonb := the_body -> 'facts';
    period text := the_body #>> '{facts,period}';
    account jsonb;
    capacity {schema}.privclust_cost;
    taken {schema}.privclust_cost;
    lowered jsonb;
    periods numeric;
BEGIN
    PERFORM {schema}.privclust_lock();
    SELECT entry.body::jsonb INTO account FROM {schema}.privclust_entries AS entry
    WHERE entry.kind = 'dataset' AND entry.label = the_label ORDER BY entry.number LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the ledger knows no data set ''%''.', the_label;
    END IF;
    IF NOT coalesce(the_run ~ '^[0-9a-f]{16}([0-9a-f]{16})?$', false)
        OR EXISTS (SELECT FROM {schema}.privclust_entries AS entry WHERE entry.run = the_run)
        OR jsonb_typeof(facts) IS DISTINCT FROM 'object'
        OR EXISTS (SELECT FROM jsonb_each(facts) WHERE jsonb_typeof(value) <> 'string')
    THEN
        RAISE EXCEPTION 'this is not a new run';
    END IF;
    capacity := {schema}.privclust_cost_of(account -> 'capacity');
    taken := {schema}.privclust_committed(the_label, NULL::text, cost);
    IF NOT {schema}.privclust_within(taken, capacity)
        AND NOT {schema}.privclust_within(taken, {schema}.privclust_cost_of(account -> 'pure'))
    THEN
        RAISE EXCEPTION 'the data set''s budget does not cover this run; nothing was read.';
    END IF;
    -- The owner may have lowered the budget, or closed the data set.
    FOR lowered IN SELECT entry.body::jsonb FROM {schema}.privclust_entries AS entry
        WHERE entry.kind = 'lower' AND entry.label = the_label ORDER BY entry.number
    LOOP
        capacity := {schema}.privclust_cost_of(lowered -> 'capacity');
        IF NOT {schema}.privclust_within(taken, capacity)
            AND NOT {schema}.privclust_within(taken, {schema}.privclust_cost_of(lowered -> 'pure'))
        THEN
            RAISE EXCEPTION 'the data set''s budget does not cover this run; nothing was read.';
        END IF;
    END LOOP;
    periods := coalesce((account ->> 'periods')::numeric, 1);
    IF (period IS NULL) <> (periods = 1) OR period !~ '^[A-Z0-9]+(-[A-Z0-9]+)*$' THEN
        RAISE EXCEPTION 'a fit names a period, such as 2026-W07, if its data set has periods';
    END IF;
    IF periods > 1 THEN
        capacity.quanta := div(capacity.quanta, periods);
        capacity.pure := div(capacity.pure, periods);
        taken := {schema}.privclust_committed(the_label, period, cost);
        IF NOT {schema}.privclust_within(taken, capacity) THEN
            RAISE EXCEPTION 'period %''s budget does not cover this run; nothing was read.', period;
        END IF;
    END IF;
    PERFORM {schema}.privclust_chain(
        'reserve'::text, the_label, the_run, ''::text, jsonb_build_object('spend',
        the_body -> 'spend', 'facts', facts, 'role', session_user)::text, ''::bytea);
END $$;

CREATE FUNCTION {schema}.privclust_claim(
    the_run text, the_slot text, the_body jsonb, the_fingerprint bytea
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beginning {schema}.privclust_entries := {schema}.privclust_own_run(the_run);
    cost {schema}.privclust_cost := {schema}.privclust_cost_of(the_body -> 'spend');
    spent {schema}.privclust_cost;
BEGIN
    IF EXISTS (SELECT FROM {schema}.privclust_entries AS entry
        WHERE entry.kind = 'close' AND entry.run = the_run)
    THEN
        RAISE EXCEPTION 'run % was closed before it was finished.', the_run;
    END IF;
    IF encode(sha256(the_fingerprint), 'hex') IS DISTINCT FROM the_body ->> 'fingerprint' THEN
        RAISE EXCEPTION 'this is not the fingerprint''s hash';
    END IF;
    SELECT coalesce(sum(entry.quanta), 0) + cost.quanta,
        coalesce(sum(entry.slack ORDER BY entry.number), 0) + cost.slack,
        coalesce(sum(entry.tail ORDER BY entry.number), 0) + cost.tail,
        CASE WHEN count(entry.pure) = count(*) THEN coalesce(sum(entry.pure), 0) + cost.pure END
    INTO spent FROM {schema}.privclust_entries AS entry
    WHERE entry.kind = 'claim' AND entry.run = the_run;
    IF NOT {schema}.privclust_within(
        spent, {schema}.privclust_cost_of(beginning.body::jsonb -> 'spend'))
    THEN
        RAISE EXCEPTION 'this run claims more than it reserved.';
    END IF;
    PERFORM {schema}.privclust_chain(
        'claim'::text, beginning.label, the_run, the_slot, jsonb_build_object('spend',
        the_body -> 'spend', 'fingerprint', the_body -> 'fingerprint')::text, the_fingerprint);
END $$;

CREATE FUNCTION {schema}.privclust_result(the_run text, the_slot text, the_body jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beginning {schema}.privclust_entries := {schema}.privclust_own_run(the_run);
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.privclust_entries AS entry
        WHERE entry.kind = 'claim' AND entry.run = the_run AND entry.slot = the_slot)
    THEN
        RAISE EXCEPTION 'slot ''%'' was never claimed in this run.', the_slot;
    END IF;
    IF NOT coalesce(
        jsonb_typeof(the_body -> 'values') = 'array'
        AND jsonb_typeof(the_body -> 'scale') = 'number' AND (the_body ->> 'scale')::float8 >= 0
        AND jsonb_typeof(the_body -> 'noise') = 'string', false)
        OR EXISTS (SELECT FROM jsonb_array_elements(the_body -> 'values')
            WHERE CASE WHEN jsonb_typeof(value) <> 'number' THEN true ELSE
                value::text !~ '^-?[0-9]{1,19}$' OR abs(value::numeric) >= 2::numeric ^ 63 END)
    THEN
        RAISE EXCEPTION 'this is not a result';
    END IF;
    PERFORM {schema}.privclust_chain(
        'result'::text, beginning.label, the_run, the_slot, jsonb_build_object(
        'values', the_body -> 'values', 'scale', the_body -> 'scale',
        'noise', the_body -> 'noise')::text, ''::bytea);
END $$;

CREATE FUNCTION {schema}.privclust_close(the_run text, the_body jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beginning {schema}.privclust_entries := {schema}.privclust_own_run(the_run);
BEGIN
    IF jsonb_typeof(the_body -> 'finished') IS DISTINCT FROM 'boolean' THEN
        RAISE EXCEPTION 'this is not the end of a run';
    END IF;
    PERFORM {schema}.privclust_chain('close'::text, beginning.label, the_run, ''::text,
        jsonb_build_object('finished', the_body -> 'finished')::text, ''::bytea);
END $$;

-- What the owner does to a data set after creating it. It is granted to nobody.
CREATE FUNCTION {schema}.privclust_lower(the_label text, the_slot text, the_body jsonb)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.privclust_lock();
    PERFORM {schema}.privclust_cost_of(the_body -> 'capacity');
    PERFORM {schema}.privclust_cost_of(the_body -> 'pure');
    PERFORM {schema}.privclust_chain(
        'lower'::text, the_label, ''::text, the_slot, the_body::text, ''::bytea);
END $$;

-- Nobody may do anything until the owner grants it ('privclust ledger grant').
REVOKE ALL ON {schema}.privclust_entries FROM PUBLIC;
REVOKE ALL ON FUNCTION {schema}.privclust_refuse(), {schema}.privclust_lock(),
    {schema}.privclust_within({schema}.privclust_cost, {schema}.privclust_cost),
    {schema}.privclust_cost_of(jsonb),
    {schema}.privclust_committed(text, text, {schema}.privclust_cost),
    {schema}.privclust_chain(text, text, text, text, text, bytea),
    {schema}.privclust_own_run(text),
    {schema}.privclust_reserve(text, text, jsonb),
    {schema}.privclust_claim(text, text, jsonb, bytea),
    {schema}.privclust_result(text, text, jsonb),
    {schema}.privclust_close(text, jsonb),
    {schema}.privclust_lower(text, text, jsonb)
FROM PUBLIC;
