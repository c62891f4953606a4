package main

// module is the path that the project's own imports start with.
const module = "github.com/simba-go/simba"

// A floor is one package of the project and what it may import besides the standard library. Lists are separated by
// spaces; a name from outside stands for everything below it.
type floor struct {
	pkg     string // folder, "." for the root package
	core    bool   // may import only core packages and nothing of heavy, so that no driver can be reached from it
	project string // packages of the project: each has its own floor above in the table, which is how imports only go down
	outside string // modules
	tests   string // packages of the project that its tests may import too
	drivers string // modules that its tests may import too
}

// floors is the whole house, from the ground up. Read it as the architecture: to let a package import something, change
// its line here and say why in the commit.
var floors = []floor{
	{pkg: "internal/ratio"},
	{pkg: "internal/proxy"},

	{pkg: "actor", core: true, outside: "github.com/looplab/fsm golang.org/x/sys"},
	{pkg: "internal/tables", project: "actor", outside: "github.com/looplab/fsm pgregory.net/rapid"},
	{pkg: "term", core: true, project: "actor"},
	{pkg: "observe", core: true, project: "term"},

	{pkg: "backend", core: true, project: "actor"},
	{pkg: "backend/memory", core: true, project: "actor backend"},
	{pkg: "backend/backendtest", project: "actor backend backend/memory", outside: "pgregory.net/rapid"},
	{pkg: "backend/internal/vigil", project: "backend"},
	{pkg: "backend/sqlite", project: "actor backend backend/internal/vigil", outside: "modernc.org/sqlite golang.org/x/sys"},

	{pkg: "backend/internal/drivertest", project: "backend internal/ratio"},
	{pkg: "internal/servers", outside: "github.com/jackc/pgx/v5 github.com/go-sql-driver/mysql"},
	{pkg: "backend/postgres", project: "actor backend backend/internal/vigil", outside: "github.com/jackc/pgx/v5",
		tests: "backend/internal/drivertest internal/proxy internal/servers"},
	{pkg: "backend/mysql", project: "actor backend backend/internal/vigil", outside: "github.com/go-sql-driver/mysql",
		tests: "backend/internal/drivertest internal/proxy internal/servers"},
	{pkg: "backend/zookeeper", project: "actor backend", outside: "github.com/go-zookeeper/zk", tests: "internal/servers internal/proxy"},
	{pkg: "backend/redis", project: "actor backend", outside: "github.com/redis/go-redis/v9", tests: "internal/servers internal/proxy"},

	{pkg: "session", core: true, project: "actor term observe backend"},
	{pkg: "election", core: true, project: "actor term observe backend session"},
	{pkg: "lock", core: true, project: "actor term observe backend session"},
	{pkg: "task", core: true, project: "actor term observe backend session election"},
	{pkg: "schedule", core: true, project: "actor term observe backend election", outside: "github.com/netresearch/go-cron"},

	{pkg: "fence", core: true},
	{pkg: "fence/internal/statement", project: "fence"},
	{pkg: "fence/fencesql", project: "backend fence fence/internal/statement",
		tests:   "internal/servers",
		drivers: "modernc.org/sqlite github.com/jackc/pgx/v5 github.com/go-sql-driver/mysql"},
	{pkg: "fence/fencepgx", project: "backend fence fence/internal/statement", outside: "github.com/jackc/pgx/v5", tests: "internal/servers"},
	{pkg: "fence/fenceredis", project: "fence", outside: "github.com/redis/go-redis/v9", tests: "internal/servers"},
	{pkg: "fence/fencehttp", project: "backend fence"},
	{pkg: "fence/fencefile", project: "fence", outside: "github.com/gofrs/flock", drivers: "golang.org/x/sys"},

	{pkg: "sim", core: true, project: "actor term observe backend backend/memory session election lock task schedule"},
	{pkg: "sim/swarm", core: true, project: "actor term observe backend backend/memory session election sim schedule"},
	{pkg: "sim/scenario", project: "actor backend backend/memory election session sim term", outside: "github.com/goccy/go-yaml"},
	{pkg: "props_test", tests: "actor backend session sim/swarm"},

	{pkg: "docs", tests: "session election lock schedule sim"},
	{pkg: ".", core: true, project: "actor term observe backend session election lock task schedule", tests: "backend/sqlite backend/redis internal/servers internal/proxy"},
	{pkg: "processes_test", tests: ". backend/sqlite fence fence/fencefile"},
	{pkg: "examples/schedule", project: ". observe backend/sqlite"},
	{pkg: "examples/task", project: ". backend/sqlite fence/fencefile"},
	{pkg: "examples/fencing", project: ". backend/sqlite fence fence/fencesql", outside: "modernc.org/sqlite"},
	{pkg: "cmd/simba/internal/child", outside: "golang.org/x/sys"},
	{pkg: "cmd/simba/internal/control", outside: "golang.org/x/sys"},
	{pkg: "cmd/simba/internal/tty", outside: "golang.org/x/sys"},
	{pkg: "cmd/simba", project: ". backend/memory backend/mysql backend/postgres backend/redis backend/sqlite backend/zookeeper cmd/simba/internal/child cmd/simba/internal/control cmd/simba/internal/tty",
		outside: "github.com/spf13/cobra github.com/spf13/pflag github.com/jackc/pgx/v5 github.com/redis/go-redis/v9", tests: "backend internal/servers"},
	{pkg: "cmd/simba-sim/internal/experiment", project: "actor backend observe session sim term",
		outside: "github.com/spf13/cobra github.com/spf13/pflag gonum.org/v1/plot"},
	{pkg: "cmd/simba-sim/internal/report", project: "sim"},
	{pkg: "cmd/simba-sim", project: "sim sim/scenario sim/swarm cmd/simba-sim/internal/experiment cmd/simba-sim/internal/report", outside: "github.com/spf13/cobra"},
}

// What every test may import on top of what its package may.
const (
	testProject = "internal/ratio internal/tables sim backend/memory backend/backendtest"
	testOutside = "go.uber.org/goleak pgregory.net/rapid"
)

// heavy is what the core does without: whoever links it pays for it, and no decision of the core needs a socket, a database
// or another process.
const heavy = "C database/sql expvar html/template net os/exec plugin"
