package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/simba-go/simba/cmd/simba/internal/control"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// demoInternals are the commands that simba demo starts this program with.
func (a *app) demoInternals() []*cobra.Command {
	return []*cobra.Command{
		{
			Use:    "demo-node NAME JOURNAL",
			Short:  "A process of simba demo",
			Hidden: true,
			Args:   cobra.ExactArgs(2),
			RunE:   runE(func(ctx context.Context, args []string) error { return a.demoNode(ctx, args[0], args[1]) }),
		},
		{
			Use:    "demo-work JOURNAL",
			Short:  "What a process of simba demo does while leading",
			Hidden: true,
			Args:   cobra.ExactArgs(1),
			RunE:   runE(func(_ context.Context, args []string) error { return a.demoWork(args[0]) }),
		},
	}
}

// demoNode is simba run, except that it also ends when simba demo does, however
// that ends.
func (a *app) demoNode(ctx context.Context, name, journal string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		a.signals.endings <- syscall.SIGTERM
	}()
	return a.run(ctx, name, []string{exe, "demo-work", journal, "--id", a.global.id}, &runFlags{grace: defaultGrace})
}

// demoWork writes to the journal, over and over, until it is asked to end.
func (a *app) demoWork(path string) error {
	token, err := strconv.ParseUint(os.Getenv("SIMBA_TOKEN"), 10, 64)
	if err != nil {
		return usagef("demo-work is for simba demo, which runs it with a SIMBA_TOKEN")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	write := func(kind string) error {
		_, err := io.WriteString(f, record{kind, token, a.global.id, time.Now().UnixNano()}.String())
		return err
	}
	err = write(recordBegin)
	for err == nil {
		select {
		case <-a.signals.asked.Done():
			return write(recordEnd)
		case <-time.After(10 * time.Millisecond):
			err = write(recordWork)
		}
	}
	return err
}

// node is a process of the demo.
type node struct {
	label  string
	pid    int
	cmd    *exec.Cmd
	leash  io.Closer // its stdin: it ends when this closes
	log    string    // path
	done   chan struct{}
	killed bool // by us
	asked  bool // to end
}

func (d *demo) startNode(label string) (*node, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &node{label: label, log: filepath.Join(d.folder, label+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(n.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n.cmd = exec.Command(exe, append([]string{"demo-node", d.name, d.journal.file.Name(), "--id", label}, d.flagsForNodes()...)...)
	n.cmd.Env = append(os.Environ(), backendVar+"="+d.app.global.backend, control.FolderVar+"="+d.folder)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if n.leash, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	n.pid = n.cmd.Process.Pid
	go func() {
		_ = n.cmd.Wait() // how it ended is in ProcessState
		close(n.done)
	}()
	return n, nil
}

// flagsForNodes passes on what the user has set, except what others must not see
// in the list of processes.
func (d *demo) flagsForNodes() (args []string) {
	d.app.global.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "backend" && f.Name != "id" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// node returns the process that has a label; there is one for each in the journal.
func (d *demo) node(label string) *node {
	i := slices.IndexFunc(d.nodes, func(n *node) bool { return n.label == label })
	return d.nodes[i]
}

func (n *node) over() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

func (n *node) kill() error {
	n.killed = true
	return n.cmd.Process.Kill()
}

func (n *node) askToEnd() error {
	n.asked = true
	return askToEnd(n)
}

// failure is the error of a process that has ended in another way than it should.
func (n *node) failure() error {
	if !n.over() || n.killed {
		return nil
	}
	code := n.cmd.ProcessState.ExitCode()
	if n.asked && (code == 0 || code == 128+int(syscall.SIGTERM)) { // as the leader, or waiting
		return nil
	}
	const most = 500
	log, _ := os.ReadFile(n.log)
	log = bytes.TrimSpace(log[max(0, len(log)-most):])
	return fmt.Errorf("%s has ended, with %v; it said: %q", n.label, n.cmd.ProcessState, log)
}

// killAll leaves nobody behind.
func (d *demo) killAll() {
	for _, n := range d.nodes {
		_ = n.kill() // fails if it has ended
		n.leash.Close()
		<-n.done
	}
}
