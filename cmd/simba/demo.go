package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const demoHelp = `Start three processes that contend for one lease, and watch who leads: until the leader
is killed, another one takes over, and hands over in turn.

The processes are simba run, over a SQLite file that is deleted afterwards, or over the
store of --backend. What they do while leading is to write their token into a journal,
again and again. simba demo reads it, and exits with 70 if it ever sees two of them lead
at once, a token that does not grow, or a takeover that does not come.`

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		Short:   "Watch a leader be killed, and another take over",
		Long:    demoHelp,
		Example: "  simba demo\n  simba demo --lease 5s",
		GroupID: groupMore,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("simba demo takes no argument, and got %q", args[0])
			}
			return nil
		},
		RunE: runE(func(ctx context.Context, _ []string) error { return a.demo(ctx) }),
	}
}

// demo is one simba demo.
type demo struct {
	app     *app
	name    string // of the lease
	folder  string
	nodes   []*node // by label
	journal *journal
	store   *lookout
	view    *view
}

// The times of the show. No check depends on them.
const (
	demoLease = "2s"
	demoScene = 1500 * time.Millisecond // for people to see that nothing changes
	demoTick  = 5 * time.Millisecond
	demoFrame = 66 * time.Millisecond
)

func (a *app) demo(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "simba-demo-")
	if err != nil {
		return err
	}
	d := &demo{app: a, folder: folder, view: newView(os.Stdout)}
	err = d.run(ctx)
	d.view.done()
	if err == nil || ctx.Err() != nil || len(d.nodes) == 0 {
		return errors.Join(causeOf(ctx, err), os.RemoveAll(folder))
	}
	return fmt.Errorf("%w (the journal and the logs are in %s)", err, folder)
}

func (d *demo) run(ctx context.Context) (err error) {
	where, err := d.prepare()
	if err != nil {
		return err
	}
	c, err := d.app.connectShared(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.hangUp(d.app.signals)) }()
	d.store = &lookout{client: c, name: d.name}
	if d.view.live {
		defer d.store.goOn(ctx)()
	}
	if d.journal, err = openJournal(filepath.Join(d.folder, "journal")); err != nil {
		return err
	}
	defer d.journal.close()
	defer d.killAll()
	d.view.title("Three processes, one lease of %v, in %s", d.app.global.lease, where)
	return d.play(ctx)
}

// prepare chooses the store and the lease, unless the user has.
func (d *demo) prepare() (where string, err error) {
	flags := d.app.global.flags
	if !flags.Changed("lease") {
		if err := flags.Set("lease", demoLease); err != nil {
			return "", err
		}
	}
	if flags.Changed("backend") {
		d.name = fmt.Sprintf("simba-demo-%d-%x", os.Getpid(), time.Now().UnixMilli())
		return "the store of --backend", nil
	}
	d.name = "demo"
	path := filepath.Join(d.folder, "leases.db")
	return path, flags.Set("backend", "sqlite:"+path)
}

// play is the show: each scene is checked, and the journal all the time.
func (d *demo) play(ctx context.Context) error {
	for _, label := range []string{"node-a", "node-b", "node-c"} {
		n, err := d.startNode(label)
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
	}
	scenes := []func(context.Context) error{d.firstLeader, d.crash, d.handover, d.curtain}
	for _, scene := range scenes {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	d.view.verdict("never two leaders at once: %d journal records, each under the newest token", d.journal.records)
	d.view.verdict("tokens only grow: %s", d.journal.tokens())
	return nil
}

// everybody is a list of the processes, for those who want to kill one themselves.
func (d *demo) everybody() string {
	all := make([]string, len(d.nodes))
	for i, n := range d.nodes {
		all[i] = fmt.Sprintf("%s (pid %d)", n.label, n.pid)
	}
	return strings.Join(all, ", ")
}

func (d *demo) firstLeader(ctx context.Context) error {
	d.view.event("%s contend for %q", d.everybody(), d.name)
	first, err := d.awaitLeader(ctx, reign{})
	if err != nil {
		return err
	}
	d.view.event("%s leads, with token %d", first.label, first.token)
	return d.watch(ctx, demoScene)
}

// crash kills the leader with a signal that no process can catch.
func (d *demo) crash(ctx context.Context) error {
	old := d.journal.current()
	victim := d.node(old.label)
	killed := time.Now()
	if err := victim.kill(); err != nil {
		return err
	}
	d.view.event("kill -9 %s (pid %d): no goodbye, so its lease has to run out", victim.label, victim.pid)
	next, err := d.awaitLeader(ctx, old)
	if err != nil {
		return err
	}
	took := next.began.Sub(killed)
	d.view.event("%s leads, with the higher token %d", next.label, next.token)
	d.view.verdict("takeover after the crash in %s, with a lease of %v", rounded(took), d.app.global.lease)
	if err := d.watch(ctx, demoScene/2); err != nil {
		return err
	}
	reborn, err := d.startNode(victim.label)
	if err != nil {
		return err
	}
	d.nodes[slices.Index(d.nodes, victim)] = reborn
	d.view.event("%s starts again, as a new owner that has to wait its turn", victim.label)
	return d.watch(ctx, demoScene)
}

// handover asks the leader to end.
func (d *demo) handover(ctx context.Context) error {
	old := d.journal.current()
	leaving := d.node(old.label)
	d.journal.asked(old.token)
	asked := time.Now()
	if err := leaving.askToEnd(); err != nil {
		return err
	}
	d.view.event("SIGTERM to %s (pid %d): it ends its work, and hands over", leaving.label, leaving.pid)
	next, err := d.awaitLeader(ctx, old)
	if err != nil {
		return err
	}
	d.view.event("%s leads, with the higher token %d", next.label, next.token)
	ended := d.journal.find(old.token).ended
	d.view.verdict("handover in %s; nobody led for %s of it", rounded(next.began.Sub(asked)), rounded(next.began.Sub(ended)))
	if err := d.await(ctx, leaving.label+" to end", leaving.over); err != nil {
		return err
	}
	return errors.Join(leaving.failure(), d.watch(ctx, demoScene))
}

// curtain ends everybody, and looks whether they have tidied up.
func (d *demo) curtain(ctx context.Context) error {
	for _, n := range d.nodes {
		if !n.over() {
			if err := n.askToEnd(); err != nil {
				return err
			}
		}
	}
	for _, n := range d.nodes {
		if err := d.await(ctx, n.label+" to end", n.over); err != nil {
			return err
		}
		if err := n.failure(); err != nil {
			return err
		}
	}
	holder, err := d.store.look(ctx)
	if err != nil {
		return err
	}
	if holder.Held {
		return fmt.Errorf("everybody has ended, and yet %q is held by %s", d.name, holder.Label)
	}
	d.view.event("everybody has ended, and the lease is free")
	return nil
}

// awaitLeader waits for a leader that follows another one, and for the store to say
// the same of it as the journal.
func (d *demo) awaitLeader(ctx context.Context, old reign) (reign, error) {
	var next reign
	what := fmt.Sprintf("the journal and the store to tell of a leader with a token higher than %d", old.token)
	err := d.await(ctx, what, func() bool {
		next = d.journal.current()
		if next.token <= old.token {
			return false
		}
		holder, err := d.store.look(ctx)
		return err == nil && holder.Token == next.token && holder.Label == next.label
	})
	if err == nil && next.label == old.label {
		err = fmt.Errorf("%s leads again, although it should have ended", next.label)
	}
	return next, err
}

// watch lets people watch for a while.
func (d *demo) watch(ctx context.Context, long time.Duration) error {
	end := time.Now().Add(long)
	return d.await(ctx, "time to pass", func() bool { return time.Now().After(end) })
}

// await goes on until what is expected has come, and checks the journal and the
// processes meanwhile.
func (d *demo) await(ctx context.Context, what string, come func() bool) error {
	bound := time.Now().Add(patience + 5*d.app.global.lease)
	var frame time.Time
	for {
		if err := d.check(); err != nil {
			return err
		}
		if time.Since(frame) >= demoFrame {
			d.draw()
			frame = time.Now()
		}
		if come() {
			d.draw()
			return nil
		}
		if time.Now().After(bound) {
			return fmt.Errorf("waited for %s in vain", what)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(demoTick):
		}
	}
}

func (d *demo) check() error {
	if err := d.journal.read(); err != nil {
		return err
	}
	for _, n := range d.nodes {
		if err := n.failure(); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) draw() {
	d.view.draw(d.board())
}

// rounded is a duration for people.
func rounded(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
