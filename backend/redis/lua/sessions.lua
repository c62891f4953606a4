-- Returns the ids of all sessions, some of which may have expired.
return redis.call('ZRANGE', SESSIONS, 0, -1)
