package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// mistake runs simba within this process, and returns what it would exit with, and
// say.
func mistake(t *testing.T, args ...string) (code int, says string) {
	t.Helper()
	a := &app{args: args, signals: &signals{asked: t.Context(), forced: t.Context()}}
	var stderr strings.Builder
	code = report(&stderr, a.root().ExecuteContext(t.Context()))
	return code, stderr.String()
}

// Each mistake is one line that says what is wrong and what would be right.
func TestMistakes(t *testing.T) {
	t.Setenv(backendVar, "sqlite:"+filepath.Join(t.TempDir(), "leases.db"))
	for _, c := range []struct {
		args string
		code int
		says string // all of it, or with ... at its end how it begins
	}{
		{"rnu", 64, `unknown command "rnu"; did you mean run?`},
		{"rnu --lease 3s x", 64, `unknown command "rnu"; did you mean run?`},
		{"rnu --nonsense", 64, `unknown command "rnu"; did you mean run?`},
		{"nonsense", 64, `unknown command "nonsense"; there are run, lock, schedule, status, watch, stepdown, demo, migrate, help, completion`},
		{"help nonsense", 64, `unknown command "nonsense"; there are ...`},
		{"--leese 3s status", 64, `unknown flag --leese; did you mean --lease?`},
		{"status -q", 64, `unknown flag -q; see simba status --help`},
		{"status --lease", 64, `flag needs an argument: --lease; see simba status --help`},

		{"run", 64, `NAME is missing; write: simba run NAME -- CMD ARG...`},
		{"run -- true", 64, `NAME is missing; write: simba run NAME -- CMD ARG...`},
		{"lock -- true", 64, `NAME is missing; write: simba lock NAME -- CMD ARG...`},
		{"run x", 64, `-- and CMD are missing; write: simba run NAME -- CMD ARG...`},
		{"run x true now", 64, `-- is missing before CMD; write: simba run x -- true now`},
		{"lock x ls -la", 64, `unknown flag -la; if it is for CMD, write -- before CMD: simba lock NAME [flags] -- CMD ARG...`},
		{"lock x --", 64, `CMD is missing after --; write: simba lock NAME -- CMD ARG...`},
		{"run x y -- true", 64, `there are 2 names before --; there must be one; write: simba run NAME -- CMD ARG...`},
		{"run a/b -- true", 64, `invalid name "a/b": it contains '/'; a name has 1 to 128 characters of ...`},
		{"lock .. -- true", 64, `invalid name "..": it means a folder; a name has ...`},
		{"status ok a/b", 64, `invalid name "a/b": it contains '/'; a name has ...`},
		{"watch", 64, `there are 0 names; simba watch takes one`},
		{"watch a b", 64, `there are 2 names; simba watch takes one`},
		{"stepdown", 64, `there are 0 names; simba stepdown takes one`},
		{"stepdown a/b", 64, `invalid name "a/b": it contains '/'; a name has ...`},
		{"stepdown x --for -1s", 64, `--for: -1s is negative; it must be zero or more`},
		{"stepdown x --for ever", 64, `--for: "ever" is not a duration; write ...`},
		{"stepdown x --backend memory:", 64, `memory: is gone with this process, and no other process can see it; use sqlite:PATH`},
		{"stepdown x", 68, `nobody leads "x"`},
		{"stepdwn x", 64, `unknown command "stepdwn"; did you mean stepdown?`},
		{"migrate x", 64, `simba migrate takes no argument, and got "x"`},
		{"migrate", 64, `sqlite: needs no migration; simba migrate is for postgres://HOST/DATABASE and mysql://HOST/DATABASE`},
		{"migrate --print --backend postgres://scott:tiger@host/db?simba_schema=A-B", 64, `postgres: the schema "A-B" is no name for one; ...`},
		{"status --backend postgres://scott:tiger@host:nowhere/db", 64, `postgres: cannot parse ...`},
		{"status --backend mysql://scott:tiger@host", 64, `mysql: the URL names no database; write mysql://USER:PASSWORD@HOST:PORT/DATABASE`},
		{"migrate --backend mysql://scott:tiger@host", 64, `mysql: the URL names no database; ...`},
		{"demo x", 64, `simba demo takes no argument, and got "x"`},

		{"run x --grace 5 -- true", 64, `--grace: "5" is not a duration; write a number with a unit, such as 500ms, 15s or 2m`},
		{"run x --grace -5s -- true", 64, `--grace: -5s is negative; it must be zero or more`},
		{"run x --policy yield -- true", 64, `--policy: "yield" is not a policy; write hold, restart or stepdown`},
		{"run x --policy= -- true", 64, `--policy: "" is not a policy; write hold, restart or stepdown`},
		{"run x --once --policy hold -- true", 64, `--once and --policy exclude each other: with --once simba ends when CMD does`},
		{"lock x --timeout soon -- true", 64, `--timeout: "soon" is not a duration; write ...`},
		{"lock x --timeout -1ns -- true", 64, `--timeout: -1ns is negative; it must be zero or more`},

		{"schedule x -- true", 64, `nothing says when CMD runs; give one of --every, --rate and --cron`},
		{"schedule x --every 1s --rate 1s -- true", 64, `--every and --rate exclude each other; give one of them`},
		{"schedule x --every 0s -- true", 64, `--every: it is 0s; it must be above zero`},
		{"schedule x --rate -1s --delay -1s -- true", 64, `--rate: it is -1s; it must be above zero; --delay: it is -1s; it must not be negative`},
		{"schedule x --rate 1s --jitter 1s -- true", 64, `--jitter: it is 1s; it must be below the interval of 1s`},
		{"schedule x --every 30 -- true", 64, `--every: "30" is not a duration; write ...`},
		{"schedule x --cron @daily -- true", 64, `--tz is missing; give the time zone of --cron, such as Europe/Berlin or UTC`},
		{"schedule x --every 1s --tz UTC -- true", 64, `--tz is for --cron; leave it out with --every`},
		{"schedule x --cron @daily --tz Mars/Olympus -- true", 64, `--tz: "Mars/Olympus" is not known here; name one ...`},
		{"schedule x --cron 0_3 --tz UTC -- true", 64, `--cron: "0_3" has 1 fields instead of 5; write minute, hour, ...`},
		{"schedule x --every 1s --backend sqlite:/no/such/folder/x -- no-such-command", 127, `command "no-such-command" not found in PATH: ...`},
		{"schedule x --every 1s --durable -- true", 64, `--durable is for --rate and --cron; --every goes by the end of the last run, and has no times to keep`},
		{"schedule x --backend memory: -- true", 64, `nothing says when CMD runs; ...`},

		{"status --lease 5", 64, `--lease: "5" is not a duration; write ...`},
		{"status --lease 0s", 64, `invalid parameters: the lease is 0s; it must be above zero ...`},
		{"status --lease 3s --renew-interval 2s", 64, `invalid parameters: the renew interval 2s does not fit twice into the lease 3s; it must be at most 1.5s`},
		{"status --drift x", 64, `--drift: "x" is not a number; write a fraction, such as 0.01 for one percent`},
		{"status --drift 0.5", 64, `invalid parameters: the drift is 0.5; it must be at least 0 and below 0.5`},
		{"status --margin -1s", 64, `invalid parameters: the margin is -1s; it must not be negative`},
		{"status --log-level loud", 64, `--log-level: "loud" is not a level; write debug, info, warn or error`},
		{"status --id=", 64, `invalid parameters: the label has 0 bytes; it must have 1 to 256`},

		{"status --backend leases.db", 64, `the backend's URL has no scheme; it must be one of sqlite:PATH, redis://HOST:PORT, rediss://HOST:PORT, postgres://HOST/DATABASE, mysql://HOST/DATABASE, zookeeper://HOST:PORT,.../NAMESPACE, memory:`},
		{"status --backend=", 64, `the backend's URL has no scheme; it must be one of sqlite:PATH, redis://HOST:PORT, rediss://HOST:PORT, postgres://HOST/DATABASE, mysql://HOST/DATABASE, zookeeper://HOST:PORT,.../NAMESPACE, memory:`},
		{"status --backend oracle://scott:tiger@host", 64, `the backend's URL has the unknown scheme "oracle"; it must be one of sqlite:PATH, redis://HOST:PORT, rediss://HOST:PORT, postgres://HOST/DATABASE, mysql://HOST/DATABASE, zookeeper://HOST:PORT,.../NAMESPACE, memory:`},
		{"status --backend sqlite:", 64, `sqlite: has no path; write sqlite:PATH, such as sqlite:/var/lib/simba/leases.db`},
		{"status --backend sqlite://host/x", 64, `sqlite:// names a host, and a file has none; write sqlite:PATH`},
		{"status --backend sqlite::memory:", 64, `sqlite::memory: is a database that no other process can see; write sqlite:PATH`},
		{"status --backend redis://u:tiger%zz@h", 64, `redis: not a URL of Redis: it cannot be read; in the user and the password, ...`},
		{"status --backend redis://h/one", 64, `redis: not a URL of Redis: invalid database number: "one"`},
		{"status --backend redis://h?colour=red", 64, `redis: not a URL of Redis: unexpected option: colour`},
		{"status --backend redis://h?namespace=a/b", 64, `redis: a namespace must have 1 to 128 characters of A-Z a-z 0-9 . _ : -; it is "a/b": it contains '/'`},
		{"status --backend redis://u:tiger@127.0.0.1:1", 69, `redis: 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused`},
		{"status --backend memory:", 64, `memory: is gone with this process, and no other process can see it; use sqlite:PATH`},
		{"watch x --backend memory:", 64, `memory: is gone with this process, and no other process can see it; use sqlite:PATH`},
		{"demo --backend memory:", 64, `memory: is gone with this process, and no other process can see it; use sqlite:PATH`},
		{"status --backend zookeeper:h", 64, `zookeeper: not valid: a URL of ZooKeeper begins with zookeeper://`},
		{"status --backend zookeeper://scott:tiger@h/a//b", 64, `zookeeper: not valid: the namespace "/a//b" has the element "": it is empty`},
		{"lock x --backend memory:x -- true", 64, `memory: takes nothing after the colon`},

		{"status --backend sqlite:/no/such/folder/x", 69, `sqlite: /no/such/folder/x: the folder does not exist; ...`},
		{"lock x --backend sqlite:/etc/passwd -- true", 69, `sqlite: /etc/passwd: the file is not an SQLite database; choose another path, or move it away ...`},
		// Before the store is opened, or even looked for.
		{"status --lease 0s --backend sqlite:/no/such/folder/x", 64, `invalid parameters: the lease is 0s; it must be above zero ...`},
		{"lock x --lease 5s --margin 4s --backend sqlite:/no/such/folder/x -- true", 64, `invalid parameters: a lease of 5s with drift 0.01 and margin 4s can be relied on for ...`},
		{"run x --id= --backend nonsense -- true", 64, `invalid parameters: the label has 0 bytes; it must have 1 to 256`},
		{"run x -- no-such-command", 127, `command "no-such-command" not found in PATH: check the spelling, or give its path`},
		{"lock x -- /etc/passwd", 126, `command "/etc/passwd" cannot be executed: permission denied; is its executable bit set?`},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, says := mistake(t, strings.Split(c.args, " ")...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			says, ended := strings.CutSuffix(says, "\n")
			if !ended || strings.Contains(says, "\n") {
				t.Errorf("not one line: %q", says)
			}
			want := "simba: " + c.says
			if begin, open := strings.CutSuffix(want, " ..."); open && strings.HasPrefix(says, begin+" ") {
				return
			}
			if says != want {
				t.Errorf("got  %s\nwant %s", says, want)
			}
		})
	}
}

// The same from outside: the exit code, nothing on stdout, and all on stderr.
func TestMistakeOfAProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for args, want := range map[string]int{
		"rnu":                                   64,
		"watch x --backend memory:":             64,
		"status --backend sqlite:/no/such/file": 69,
	} {
		code, stdout, stderr := w.run(strings.Fields(args)...)
		if code != want || stdout != "" || !strings.HasPrefix(stderr, "simba: ") {
			t.Errorf("%q: exit code %d, want %d; stdout %q; stderr %q", args, code, want, stdout, stderr)
		}
	}
}

// The URL of a store may hold a password, also where it is wrong.
func TestMistakesShowNoPassword(t *testing.T) {
	for _, url := range []string{
		"oracle://scott:tiger@host/db", "scott:tiger@host", "sqlite://scott:tiger@host/db",
		"://scott:tiger@host", "redis://scott:tiger@127.0.0.1:1/0", "rediss://scott:tiger@127.0.0.1:1?password=tiger", "sqlite:/no/such/file?password=tiger", "memory:scott:tiger@host",
		"zookeeper://scott:tiger@host:port", "zookeeper:scott:tiger@host", "zookeeper://scott:tiger@host?tls=perhaps",
	} {
		for _, args := range [][]string{{"status", "--backend", url}, {"status", "--bakend", url}, {"status", "--backend", url, "--nonsense"}} {
			code, says := mistake(t, args...)
			if code == 0 || strings.Contains(says, "tiger") {
				t.Errorf("%q: exit code %d, %q", args, code, says)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		args string
		has  []string
	}{
		{"", []string{"simba demo", "  run  ", "  lock  ", "  status  ", "  watch  ", "  help  ", "--backend URL", "Exit codes:", "  76  "}},
		{"help run", []string{"simba run NAME [flags] -- CMD ARG...", "SIMBA_TOKEN", "--grace", "--once", "--policy", "  hold ", "simba stepdown", "--lease", "  76  "}},
		{"lock --help", []string{"simba lock NAME [flags] -- CMD ARG...", "--timeout", "  75  "}},
		{"status --help", []string{"--json", "remaining_ms"}},
		{"stepdown --help", []string{"simba stepdown NAME [flags]", "--for duration", "(default 15s)", "  68  "}},
		{"completion bash", []string{"complete "}},
	} {
		stdout := w.mustRun(strings.Fields(c.args)...)
		for _, text := range c.has {
			if !strings.Contains(stdout, text) {
				t.Errorf("%q does not mention %q:\n%s", c.args, text, stdout)
			}
		}
		if strings.Contains(stdout, "demo-node") {
			t.Errorf("%q shows what is internal", c.args)
		}
	}
	if v := w.mustRun("--version"); !strings.HasPrefix(v, "simba ") || !strings.Contains(v, "go1.") {
		t.Errorf("got the version %q", v)
	}
}

// What shells ask for.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for args, want := range map[string]string{
		"run x --policy ": "hold\tholding the lease without CMD\nrestart\trunning CMD again\nstepdown\tcontending again\n:4\n",
		"stepd":           "stepdown\tTell who leads on this machine to step down\n:4\n",
		"stepdown ":       ":4\n", // no files
	} {
		code, stdout, _ := w.run(append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if code != 0 || stdout != want {
			t.Errorf("%q: exit code %d, %q, want %q", args, code, stdout, want)
		}
	}
}
