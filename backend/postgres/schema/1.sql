-- Version 1.
--
-- A session is dead if it has no row, or if expires_at has passed; whoever finds the latter
-- deletes the row before anything is taken. So a lease is good if and only if its session's row
-- is, and ending a session is one row, however many leases it has: those of a dead session are
-- free as they are.
--
-- A name's row in lease stays for ever, because it holds the name's last token.
--
-- Neither table has an index besides its primary key, and much of each page is left free: so
-- updates stay on their page (HOT), touch no index, and leave nothing for a vacuum to do. There are
-- few sessions, and each is updated again and again, so their pages are left free but for a few rows.

CREATE TABLE {{schema}}.version (version integer NOT NULL);

CREATE TABLE {{schema}}.session (
	id         text COLLATE "C" PRIMARY KEY,
	label      text NOT NULL,
	lease      bigint NOT NULL,                           -- microseconds
	expires_at timestamptz NOT NULL,
	revision   bigint NOT NULL DEFAULT 1,                 -- of the session's set of leases
	names      text[] COLLATE "C" DEFAULT '{}'            -- of its leases; NULL if they are too many
) WITH (fillfactor = 10);

CREATE TABLE {{schema}}.lease (
	name    text COLLATE "C" PRIMARY KEY,
	session text COLLATE "C",
	token   bigint NOT NULL                               -- the last one
) WITH (fillfactor = 50);

CREATE TABLE {{schema}}.note (
	name    text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL,
	note    bytea NOT NULL                                -- in UTF-8
) WITH (fillfactor = 50);

-- What all functions need that write something others rely on. The snapshot must be taken after
-- the locks, which only READ COMMITTED does; and what was answered must survive a crash.
CREATE FUNCTION {{schema}}.guard() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'the transaction is %; it must be read committed', current_setting('transaction_isolation')
			USING HINT = 'Set default_transaction_isolation for the connection, the role or the database.',
				ERRCODE = 'invalid_transaction_state';
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
END $$;

-- session_alive says whether a session lives, and writes down that it does not, so that this does not
-- depend on what the clock says later. It waits for a renewal that began in time and has not been
-- committed: only the row as that leaves it can tell.
CREATE FUNCTION {{schema}}.session_alive(p_id text) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
	alive boolean;
BEGIN
	SELECT expires_at > clock_timestamp() INTO alive FROM {{schema}}.session WHERE id = p_id;
	IF NOT alive THEN
		UPDATE {{schema}}.session SET expires_at = CASE WHEN expires_at > clock_timestamp() THEN expires_at ELSE 'epoch' END
		WHERE id = p_id RETURNING expires_at > clock_timestamp() INTO alive;
	END IF;
	RETURN coalesce(alive, false);
END $$;

-- session_open begins a session, and deletes a few dead ones that nobody asks about. As ids are
-- random, those that follow a new one are random too.
CREATE FUNCTION {{schema}}.session_open(p_id text, p_lease bigint, p_label text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
	dead text[];
BEGIN
	PERFORM {{schema}}.guard();
	SELECT array_agg(id) INTO dead
	FROM (SELECT id, expires_at FROM {{schema}}.session WHERE id > p_id ORDER BY id LIMIT 64) s
	WHERE expires_at <= clock_timestamp();
	IF dead IS NOT NULL THEN
		DELETE FROM {{schema}}.session s
		USING (SELECT id FROM {{schema}}.session WHERE id = ANY (dead) AND expires_at <= clock_timestamp()
			FOR UPDATE SKIP LOCKED) d
		WHERE s.id = d.id;
	END IF;
	INSERT INTO {{schema}}.session (id, label, lease, expires_at)
	VALUES (p_id, p_label, p_lease, clock_timestamp() + p_lease * interval '1 microsecond');
END $$;

-- session_renew returns no row for a session that has ended.
CREATE FUNCTION {{schema}}.session_renew(p_id text, p_known bigint, p_full boolean)
RETURNS TABLE (remaining bigint, revision bigint, complete boolean, names text[], tokens bigint[]) LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
	s   record;
	t   timestamptz;
	few boolean := false;
BEGIN
	PERFORM {{schema}}.guard();
	SELECT lease, expires_at, revision, names INTO s FROM {{schema}}.session WHERE id = p_id FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	t := clock_timestamp(); -- not before the lock, which may have taken its time
	IF s.expires_at <= t THEN
		-- Written down, so that it does not depend on what the clock says later. To delete the row
		-- would mean to wait for calls of this session that are under way.
		UPDATE {{schema}}.session SET expires_at = 'epoch' WHERE id = p_id;
		RETURN;
	END IF;
	complete := p_full OR p_known <> s.revision;
	IF complete AND s.names IS NOT NULL THEN
		SELECT array_agg(l.name), array_agg(l.token) INTO names, tokens
		FROM {{schema}}.lease l WHERE l.name = ANY (s.names) AND l.session = p_id;
	ELSIF complete THEN
		SELECT array_agg(l.name), array_agg(l.token) INTO names, tokens FROM {{schema}}.lease l WHERE l.session = p_id;
		few := coalesce(cardinality(names), 0) <= 256;
	END IF;
	remaining := s.lease;
	revision := s.revision;
	UPDATE {{schema}}.session u SET
		expires_at = greatest(u.expires_at, t + s.lease * interval '1 microsecond'),
		names = CASE WHEN few THEN coalesce(session_renew.names, '{}') ELSE u.names END
	WHERE u.id = p_id;
	RETURN NEXT;
END $$;

-- session_close returns the names that have become free, or NULL if they are too many.
CREATE FUNCTION {{schema}}.session_close(p_id text) RETURNS text[] LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
	freed text[];
BEGIN
	DELETE FROM {{schema}}.session s
	USING (SELECT id FROM {{schema}}.session WHERE id = p_id FOR UPDATE SKIP LOCKED) d
	WHERE s.id = d.id RETURNING s.names INTO freed;
	IF NOT FOUND THEN
		-- Calls of this session are under way; they find that it has ended.
		UPDATE {{schema}}.session SET expires_at = 'epoch' WHERE id = p_id RETURNING names INTO freed;
		IF NOT FOUND THEN
			freed := '{}';
		END IF;
	END IF;
	RETURN freed;
END $$;

-- lease_acquire returns a row for each name, and last one without a name, of which won says
-- whether the session lives. If it does not, nothing was taken, and the other rows mean nothing.
--
-- Locks are taken in one order by all: sessions by id, then leases by name. Whoever changes leases
-- holds a key share lock of their session meanwhile, so that it cannot be deleted and yet be
-- renewed. At the end comes the update of its revision, which waits for nobody who waits.
--
-- Names that others hold are only looked at. What this writes is small, and it fails as a whole.
CREATE FUNCTION {{schema}}.lease_acquire(p_session text, p_names text[], p_all boolean)
RETURNS TABLE (name text, won boolean, token bigint, holder text, label text, remaining bigint) LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
	alive   boolean;
	lost    boolean := false;
	free    text[] := '{}';
	missing text[] := '{}';
	dead    text[] := '{}';
	wall    bigint;
	r       record;
BEGIN
	PERFORM {{schema}}.guard();
	alive := {{schema}}.session_alive(p_session);
	IF NOT alive THEN
		RETURN QUERY SELECT NULL::text, false, 0::bigint, NULL::text, NULL::text, 0::bigint;
		RETURN;
	END IF;

	FOR r IN
		SELECT n.name, l.name IS NULL AS missing, l.token, l.session, s.label, s.expires_at, clock_timestamp() AS t
		FROM unnest(p_names) n(name) LEFT JOIN {{schema}}.lease l ON l.name = n.name
			LEFT JOIN {{schema}}.session s ON s.id = l.session
	LOOP
		IF r.expires_at > r.t THEN
			name := r.name; won := r.session = p_session; token := r.token; holder := r.session; label := r.label;
			remaining := extract(epoch FROM r.expires_at - r.t) * 1000000;
			lost := lost OR NOT won;
			RETURN NEXT;
			CONTINUE;
		END IF;
		free := free || r.name;
		IF r.missing THEN
			missing := missing || r.name;
		ELSIF r.expires_at IS NOT NULL THEN
			dead := dead || r.session;
		END IF;
	END LOOP;

	IF free <> '{}' AND NOT (p_all AND lost) THEN
		-- The sessions: ours must stay, and those that have expired must go before anything is taken
		-- from them.
		IF dead = '{}' THEN
			PERFORM FROM {{schema}}.session s WHERE s.id = p_session FOR KEY SHARE;
			alive := FOUND;
		ELSE
			FOR r IN SELECT DISTINCT d.id FROM unnest(dead || p_session) d(id) ORDER BY d.id LOOP
				IF r.id = p_session THEN
					PERFORM FROM {{schema}}.session s WHERE s.id = p_session FOR KEY SHARE;
					alive := FOUND;
				ELSE
					DELETE FROM {{schema}}.session s WHERE s.id = r.id AND s.expires_at <= clock_timestamp();
				END IF;
			END LOOP;
		END IF;

		-- The leases. Nobody else changes them from here on.
		IF missing <> '{}' THEN
			INSERT INTO {{schema}}.lease (name, token) SELECT m.name, 0 FROM unnest(missing) m(name) ORDER BY m.name
			ON CONFLICT DO NOTHING;
		END IF;
		wall := greatest(0, extract(epoch FROM clock_timestamp()) * 1000000);
		FOR r IN SELECT l.name, l.token FROM {{schema}}.lease l WHERE l.name = ANY (free) ORDER BY l.name FOR NO KEY UPDATE LOOP
			IF greatest(r.token + 1, wall) >= 9007199254740992 THEN
				RAISE EXCEPTION 'the next token of "%" would be %, and 9007199254740991 is the greatest', r.name, greatest(r.token + 1, wall)
					USING HINT = 'The clock of the server is, or was, far in the future.';
			END IF;
		END LOOP;
		-- Another statement, which sees whoever has taken one while we waited for its lock.
		FOR r IN
			SELECT l.name, l.token, s.id, s.label, extract(epoch FROM s.expires_at - clock_timestamp()) * 1000000 AS remaining
			FROM {{schema}}.lease l JOIN {{schema}}.session s ON s.id = l.session WHERE l.name = ANY (free)
		LOOP
			name := r.name; won := r.id = p_session; token := r.token; holder := r.id; label := r.label;
			remaining := greatest(r.remaining, 1);
			lost := lost OR NOT won;
			free := array_remove(free, r.name);
			RETURN NEXT;
		END LOOP;

		IF alive AND free <> '{}' AND NOT (p_all AND lost) THEN
			UPDATE {{schema}}.session s SET revision = s.revision + 1,
				names = CASE WHEN cardinality(s.names) + cardinality(free) <= 256 THEN s.names || free END
			WHERE s.id = p_session RETURNING s.expires_at > clock_timestamp() INTO alive;
			IF alive THEN
				RETURN QUERY UPDATE {{schema}}.lease l SET session = p_session, token = greatest(l.token + 1, wall)
				WHERE l.name = ANY (free) RETURNING l.name, true, l.token, NULL::text, NULL::text, 0::bigint;
				free := '{}';
			END IF;
		END IF;
	END IF;
	-- What could have been had, if all could have been had.
	RETURN QUERY SELECT f.name, false, 0::bigint, NULL::text, NULL::text, 0::bigint FROM unnest(free) f(name);
	RETURN QUERY SELECT NULL::text, coalesce(alive, false), 0::bigint, NULL::text, NULL::text, 0::bigint;
END $$;

-- lease_release returns the names that have become free. A session that has ended has nothing to
-- release.
CREATE FUNCTION {{schema}}.lease_release(p_session text, p_names text[], p_tokens bigint[]) RETURNS text[] LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
	freed text[];
BEGIN
	PERFORM FROM {{schema}}.session WHERE id = p_session FOR KEY SHARE;
	IF NOT FOUND THEN
		RETURN '{}';
	END IF;
	IF cardinality(p_names) > 1 THEN
		PERFORM FROM {{schema}}.lease l JOIN unnest(p_names, p_tokens) f(name, token) ON l.name = f.name
		WHERE l.session = p_session AND l.token = f.token ORDER BY l.name FOR NO KEY UPDATE OF l;
	END IF;
	WITH f AS (
		UPDATE {{schema}}.lease l SET session = NULL FROM unnest(p_names, p_tokens) f(name, token)
		WHERE l.name = f.name AND l.session = p_session AND l.token = f.token RETURNING l.name
	) SELECT array_agg(name) INTO freed FROM f;
	IF freed IS NULL THEN
		RETURN '{}';
	END IF;
	UPDATE {{schema}}.session SET revision = revision + 1,
		names = CASE WHEN names IS NOT NULL THEN ARRAY(SELECT n FROM unnest(names) n WHERE n <> ALL (freed)) END
	WHERE id = p_session;
	RETURN freed;
END $$;

-- note_keep replaces the note of a lease by one whose version is greater, if the session owns that with
-- just this token, and returns what is kept. Nobody takes the lease meanwhile.
CREATE FUNCTION {{schema}}.note_keep(p_session text, p_name text, p_token bigint, p_version bigint, p_note bytea)
RETURNS TABLE (alive boolean, held boolean, version bigint, note bytea) LANGUAGE plpgsql
SET search_path = pg_catalog SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
	PERFORM {{schema}}.guard();
	PERFORM FROM {{schema}}.session s WHERE s.id = p_session FOR KEY SHARE;
	PERFORM FROM {{schema}}.lease l WHERE l.name = p_name AND l.session = p_session AND l.token = p_token FOR SHARE;
	held := FOUND;
	alive := {{schema}}.session_alive(p_session);
	IF alive AND held THEN
		IF p_version > 0 THEN
			INSERT INTO {{schema}}.note AS n VALUES (p_name, p_version, p_note)
			ON CONFLICT (name) DO UPDATE SET version = excluded.version, note = excluded.note WHERE n.version < excluded.version;
		END IF;
		SELECT n.version, n.note INTO version, note FROM {{schema}}.note n WHERE n.name = p_name;
	END IF;
	RETURN NEXT;
END $$;

-- lease_look returns a row for each of the names that was ever used, or for NULL, for each that is
-- held. Those that are not have no holder.
CREATE FUNCTION {{schema}}.lease_look(p_names text[])
RETURNS TABLE (name text, token bigint, holder text, label text, remaining bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT l.name, l.token, s.id, s.label,
		coalesce(extract(epoch FROM s.expires_at - clock_timestamp()) * 1000000, 0)::bigint
	FROM unnest(p_names) n(name) JOIN {{schema}}.lease l ON l.name = n.name
		LEFT JOIN {{schema}}.session s ON s.id = l.session AND s.expires_at > clock_timestamp();
END $$;

CREATE FUNCTION {{schema}}.lease_held()
RETURNS TABLE (name text, token bigint, holder text, label text, remaining bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT l.name, l.token, s.id, s.label,
		coalesce(extract(epoch FROM s.expires_at - clock_timestamp()) * 1000000, 0)::bigint
	FROM {{schema}}.session s JOIN {{schema}}.lease l ON l.session = s.id
	WHERE s.expires_at > clock_timestamp() ORDER BY l.name;
END $$;
