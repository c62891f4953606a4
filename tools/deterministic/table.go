package main

// behaviours are the packages in which the step functions of actors live, and all of ours that these use. Every file of
// theirs is checked, but for the edges: where the goroutines, clocks and stores of the real world begin.
var behaviours = house{module: "github.com/simba-go/simba", packages: []checked{
	{dir: "actor", edges: []edge{
		{file: "ask.go", why: "goroutines that are no actors wait in it", offers: "NewRequest Request.ReplyTo Request.String Request.Tell"},
		{file: "clock_go.go", why: "it reads Go's clock"},
		{file: "clock_darwin.go", why: "it reads the system's clock"},
		{file: "clock_linux.go", why: "it reads the system's clock"},
		{file: "clock_other.go", why: "it reads Go's clock"},
		{file: "clock_windows.go", why: "it reads the system's clock"},
		{file: "fsm.go", why: "it hands a table to another library, for tests and tools"},
		{file: "mailbox.go", why: "it is the runtime: whoever sends and the actor's goroutine meet in it"},
		{file: "process.go", why: "it is the runtime: the context of a production actor"},
		{file: "system.go", why: "it is the runtime: goroutines and their end"},
		{file: "timer.go", why: "it is the runtime: timers of the real world"},
	}},
	{dir: "term"},
	{dir: "observe"},
	{dir: "backend", edges: []edge{
		{file: "serve.go", why: "it calls the driver of a real store, on goroutines"},
		{file: "lookout.go", why: "it keeps a driver's Watch going, on a goroutine"},
		{file: "nameset.go", why: "a driver's goroutine reads it"},
	}},
	{dir: "backend/memory", edges: []edge{
		{file: "store.go", why: "it is the model for one real process: a lock, a clock, random ids"},
		{file: "watch.go", why: "it is the Watch of that store"},
	}},
	{dir: "session"},
	{dir: "election"},
	{dir: "lock"},
	{dir: "task", edges: []edge{
		{file: "host.go", why: "it runs the user's code, on goroutines"},
		{file: "insiders.go", why: "it tells goroutines apart"},
	}},
	{dir: "schedule", edges: []edge{
		{file: "calendar.go", why: "it reads time zones, and lets a library read cron lines"},
		{file: "plan.go", why: "it checks what users write, and looks at the wall clock, both outside of the actor", offers: "NewPlan Plan.look Plan.Next"},
	}},
	{dir: "sim"},
	{dir: "sim/swarm", edges: []edge{
		{file: "sweep.go", why: "it runs worlds on all processors"},
	}},
}, strangers: []edge{
	{file: "election.go", why: "it wraps an election for the front door, and tells the client's goroutines when that has ended"},
}}
