-- Version 1.
--
-- A session is dead if it has no row, or if expires_at has passed; whoever finds the latter
-- deletes the row before anything is taken. So a lease is good if and only if its session's row
-- is, and ending a session is one row, however many leases it has: those of a dead session are
-- free as they are.
--
-- A name's row in simba_lease stays for ever, because it holds the name's last token.
--
-- Times are microseconds since 1970, as the connections have the time zone UTC.

CREATE TABLE IF NOT EXISTS simba_version (version INT NOT NULL PRIMARY KEY) ENGINE = InnoDB
//
CREATE TABLE IF NOT EXISTS simba_session (
	id         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	label      MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
	lease      BIGINT NOT NULL,               -- microseconds
	expires_at BIGINT NOT NULL,
	revision   BIGINT NOT NULL DEFAULT 1      -- of the session's set of leases
) ENGINE = InnoDB
//
CREATE TABLE IF NOT EXISTS simba_lease (
	name    VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	session VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
	token   BIGINT NOT NULL,                  -- the last one
	KEY held (session)
) ENGINE = InnoDB
//
CREATE TABLE IF NOT EXISTS simba_note (
	name    VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL,
	note    BLOB NOT NULL                     -- in UTF-8
) ENGINE = InnoDB
//
-- The procedures are for connections with READ COMMITTED, where each statement sees what was committed
-- before it. Lists are JSON arrays in order, and rows are found by their keys, one by one (the server
-- would otherwise read, and lock, a small table as a whole); so rows are locked in one order by all:
-- those of leases by name, and last the one row of the caller's session. Sessions that have expired are deleted
-- in transactions of their own. So nobody who waits is waited for by whom he waits for.
--
-- simba_open begins a session, and deletes a few dead ones that nobody asks about. As ids are random,
-- those that follow a new one are random too. One that somebody has locked is left alone.
DROP PROCEDURE IF EXISTS simba_open
//
CREATE PROCEDURE simba_open(p_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, p_lease BIGINT, p_label MEDIUMTEXT CHARACTER SET utf8mb4) SQL SECURITY INVOKER
BEGIN
	DECLARE v_dead LONGTEXT CHARACTER SET utf8mb4;
	DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

	SELECT CONCAT('["', GROUP_CONCAT(s.id ORDER BY s.id SEPARATOR '","'), '"]') INTO v_dead
	FROM (SELECT id, expires_at FROM simba_session WHERE id > p_id ORDER BY id LIMIT 64) s WHERE s.expires_at <= v_now;
	START TRANSACTION;
	IF v_dead IS NOT NULL THEN
		SELECT CONCAT('["', GROUP_CONCAT(s.id ORDER BY s.id SEPARATOR '","'), '"]') INTO v_dead
		FROM JSON_TABLE(v_dead, '$[*]' COLUMNS (id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) d
			STRAIGHT_JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = d.id
		WHERE s.expires_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) FOR UPDATE SKIP LOCKED;
		DELETE s FROM JSON_TABLE(v_dead, '$[*]' COLUMNS (id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) d
			STRAIGHT_JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = d.id;
	END IF;
	INSERT INTO simba_session (id, label, lease, expires_at)
	VALUES (p_id, p_label, p_lease, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + p_lease);
	COMMIT;
END
//
-- simba_renew returns no row for a session that has ended, and otherwise, if the caller does not know
-- it, the list of its leases as a second result.
DROP PROCEDURE IF EXISTS simba_renew
//
CREATE PROCEDURE simba_renew(p_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, p_known BIGINT, p_full BOOLEAN) SQL SECURITY INVOKER
BEGIN
	DECLARE v_lease, v_expires, v_revision, v_now BIGINT;
	DECLARE v_begun BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

	START TRANSACTION;
	SELECT lease, expires_at, revision INTO v_lease, v_expires, v_revision FROM simba_session WHERE id = p_id FOR UPDATE;
	SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)); -- not before the lock, which may have taken its time
	IF v_now > v_begun + 5000000 THEN
		SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'simba: it took too long to get a lock';
	END IF;
	IF v_expires <= v_now THEN
		-- Written down, so that it does not depend on what the clock says later.
		UPDATE simba_session SET expires_at = 0 WHERE id = p_id;
	ELSEIF v_expires IS NOT NULL THEN
		UPDATE simba_session SET expires_at = GREATEST(expires_at, v_now + v_lease) WHERE id = p_id;
		SELECT v_lease AS remaining, v_revision AS revision;
		IF p_full OR p_known <> v_revision THEN
			SELECT name, token FROM simba_lease WHERE session = p_id;
		END IF;
	END IF;
	COMMIT;
END
//
-- simba_acquire returns a row for each name, and one without a name, of which won says whether the
-- session lives. If it does not, nothing was taken, and the other rows mean nothing.
--
-- Names that others hold are only looked at.
DROP PROCEDURE IF EXISTS simba_acquire
//
CREATE PROCEDURE simba_acquire(p_session VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, p_names LONGTEXT CHARACTER SET utf8mb4, p_all BOOLEAN) SQL SECURITY INVOKER
BEGIN
	DECLARE v_alive BOOLEAN DEFAULT FALSE;
	DECLARE v_free, v_missing, v_dead LONGTEXT CHARACTER SET utf8mb4;
	DECLARE v_lost INT DEFAULT 0;
	DECLARE v_token, v_wall, v_now BIGINT;
	DECLARE v_begun BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

	SELECT expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO v_alive FROM simba_session WHERE id = p_session;
	IF NOT v_alive THEN
		-- This waits for a renewal that began in time and has not been committed: only the row as that leaves it can tell.
		UPDATE simba_session SET expires_at = 0 WHERE id = p_session AND expires_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
		SELECT expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO v_alive FROM simba_session WHERE id = p_session;
	END IF;
	IF v_alive THEN
		SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
		SELECT CONCAT('["', GROUP_CONCAT(IF(s.expires_at > v_now, NULL, n.name) ORDER BY n.name SEPARATOR '","'), '"]'),
			CONCAT('["', GROUP_CONCAT(IF(l.name IS NULL, n.name, NULL) ORDER BY n.name SEPARATOR '","'), '"]'),
			CONCAT('["', GROUP_CONCAT(DISTINCT IF(s.expires_at <= v_now, s.id, NULL) ORDER BY s.id SEPARATOR '","'), '"]'),
			COALESCE(SUM(s.expires_at > v_now AND s.id <> p_session), 0)
		INTO v_free, v_missing, v_dead, v_lost
		FROM JSON_TABLE(p_names, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
			LEFT JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name LEFT JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = l.session;
		IF p_all AND v_lost > 0 THEN
			SET v_free = NULL;
		END IF;
	END IF;

	IF v_free IS NOT NULL THEN
		IF v_dead IS NOT NULL THEN
			DELETE s FROM JSON_TABLE(v_dead, '$[*]' COLUMNS (id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) d
				STRAIGHT_JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = d.id
			WHERE s.expires_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
		END IF;
		IF v_missing IS NOT NULL THEN
			INSERT INTO simba_lease (name, token)
			SELECT m.name, 0 FROM JSON_TABLE(v_missing, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) m
			ON DUPLICATE KEY UPDATE token = simba_lease.token;
		END IF;

		START TRANSACTION;
		SELECT MAX(l.token) INTO v_token
		FROM JSON_TABLE(v_free, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
			STRAIGHT_JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name FOR UPDATE;
		-- Another statement, which sees whoever has taken one while we waited for its lock.
		SELECT CONCAT('["', GROUP_CONCAT(IF(s.id IS NULL, n.name, NULL) ORDER BY n.name SEPARATOR '","'), '"]'),
			v_lost + COALESCE(SUM(s.id <> p_session), 0)
		INTO v_free, v_lost
		FROM JSON_TABLE(v_free, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
			STRAIGHT_JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name LEFT JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = l.session;
		IF v_free IS NOT NULL AND NOT (p_all AND v_lost > 0) THEN
			UPDATE simba_session SET revision = revision + 1 WHERE id = p_session AND expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
			SET v_alive = ROW_COUNT() > 0;
			SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
			SET v_wall = GREATEST(v_now, 1);
			IF v_now > v_begun + 5000000 THEN
				SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'simba: it took too long to get the locks';
			END IF;
			IF GREATEST(v_token + 1, v_wall) >= 9007199254740992 THEN
				SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'simba: there is no token left: the clock of the server is, or was, far in the future';
			END IF;
			IF v_alive THEN
				UPDATE JSON_TABLE(v_free, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
					STRAIGHT_JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name
				SET l.session = p_session, l.token = GREATEST(l.token + 1, v_wall);
			END IF;
		END IF;
	END IF;

	SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	SELECT n.name, COALESCE(l.session = p_session, FALSE) AS won, COALESCE(l.token, 0) AS token,
		s.id AS holder, s.label, COALESCE(s.expires_at - v_now, 0) AS remaining
	FROM JSON_TABLE(p_names, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
		LEFT JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name LEFT JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = l.session AND s.expires_at > v_now
	UNION ALL SELECT NULL, v_alive, 0, NULL, NULL, 0;
	COMMIT;
END
//
-- simba_release frees what the session owns with just these tokens.
DROP PROCEDURE IF EXISTS simba_release
//
CREATE PROCEDURE simba_release(p_session VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, p_leases LONGTEXT CHARACTER SET utf8mb4) SQL SECURITY INVOKER
BEGIN
	DECLARE v_now BIGINT;
	DECLARE v_begun BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

	START TRANSACTION;
	UPDATE JSON_TABLE(p_leases, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$.n', token BIGINT PATH '$.t')) f
		STRAIGHT_JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = f.name
	SET l.session = NULL WHERE l.session = p_session AND l.token = f.token;
	IF ROW_COUNT() > 0 THEN
		UPDATE simba_session SET revision = revision + 1 WHERE id = p_session;
	END IF;
	SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	IF v_now > v_begun + 5000000 THEN
		SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'simba: it took too long to get the locks';
	END IF;
	COMMIT;
END
//
-- simba_note_keep replaces the note of a lease by one whose version is greater, if the session owns that
-- with just this token, and returns what is kept. Nobody takes the lease meanwhile.
DROP PROCEDURE IF EXISTS simba_note_keep
//
CREATE PROCEDURE simba_note_keep(p_session VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, p_name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin,
	p_token BIGINT, p_version BIGINT, p_note BLOB) SQL SECURITY INVOKER
BEGIN
	DECLARE v_held BOOLEAN DEFAULT FALSE;
	DECLARE v_alive BOOLEAN DEFAULT FALSE;
	DECLARE v_now BIGINT;
	DECLARE v_begun BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

	START TRANSACTION;
	SELECT session = p_session AND token = p_token INTO v_held FROM simba_lease WHERE name = p_name FOR UPDATE;
	SELECT expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO v_alive FROM simba_session WHERE id = p_session LOCK IN SHARE MODE;
	SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
	IF v_now > v_begun + 5000000 THEN
		SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'simba: it took too long to get the locks';
	END IF;
	SET v_held = COALESCE(v_held, FALSE) AND v_alive;
	IF v_held AND p_version > 0 THEN
		INSERT INTO simba_note (name, version, note) VALUES (p_name, p_version, p_note)
		ON DUPLICATE KEY UPDATE note = IF(VALUES(version) > version, VALUES(note), note), version = GREATEST(version, VALUES(version));
	END IF;
	COMMIT;
	SELECT v_alive AS alive, v_held AS held, n.version, n.note
	FROM (SELECT p_name AS name) p LEFT JOIN simba_note n ON n.name = p.name AND v_held;
END
//
-- simba_look returns a row for each of the names that was ever used. Those that are not held have no
-- holder.
DROP PROCEDURE IF EXISTS simba_look
//
CREATE PROCEDURE simba_look(p_names LONGTEXT CHARACTER SET utf8mb4) SQL SECURITY INVOKER
BEGIN
	SELECT l.name, l.token, s.id AS holder, s.label, COALESCE(s.expires_at - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), 0) AS remaining
	FROM JSON_TABLE(p_names, '$[*]' COLUMNS (name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) n
		STRAIGHT_JOIN simba_lease l FORCE INDEX (PRIMARY) ON l.name = n.name
		LEFT JOIN simba_session s FORCE INDEX (PRIMARY) ON s.id = l.session AND s.expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
END
//
-- simba_held returns a row for each name that is held.
DROP PROCEDURE IF EXISTS simba_held
//
CREATE PROCEDURE simba_held() SQL SECURITY INVOKER
BEGIN
	SELECT l.name, l.token, s.id AS holder, s.label, s.expires_at - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) AS remaining
	FROM simba_session s JOIN simba_lease l ON l.session = s.id
	WHERE s.expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) ORDER BY l.name;
END
//
