// Package child runs a user's command so that it cannot outlive whoever started it.
//
// The command and everything it starts form one group, which is asked to end, then killed, as a whole. [Process.Wait]
// returns once all of it is gone, so whatever the command was allowed to do alone is over by then.
//
// # What holds when this process dies, whatever kills it
//
//   - Linux and macOS: a guard process, which is this very executable started again (see [RunGuard]), leads the command's
//     process group and kills it, with all that the command started, as soon as a pipe from this process closes.
//   - Linux, besides: the kernel kills the command itself (not what it started) even when the guard was killed first.
//   - Windows: the command runs in a job object that the system kills when its last handle, ours, closes.
//
// What no system lets us promise: on Linux and macOS a process that leaves the group (setsid, setpgid: daemons, the jobs
// of an interactive shell) is out of reach, except that the command itself is still signalled by [Process.Stop] and, on
// Linux, by the kernel. A command that took another user's identity (sudo) may not be ours to kill. A guard killed
// together with this process (kill -9 of both) protects no longer; it runs under the name lease-guard, so that killing
// processes by our name does not hit it.
//
// # The terminal
//
// When the command's stdin is our controlling terminal and we are in its foreground, the command becomes the foreground
// group, like a job of a shell. Otherwise the first read from the terminal would stop it, for ever. So ^C reaches the
// command and not us ([Exit.Interrupted] tells), and ^Z suspends both the command and us. When we are in the background,
// a read would stop the command as well: it gets an empty stdin instead. The same goes for a second command that is started
// while one has the terminal.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// reapBound is how long a process may take to vanish after SIGKILL before it is reported as a survivor. Only processes
// blocked inside the kernel, or not ours to kill, take longer than an instant.
const reapBound = 5 * time.Second

// minFeed is the shortest pause between two looks at Config.Remaining.
const minFeed = 10 * time.Millisecond

// Config says what to run and how it ends.
type Config struct {
	// Args is the command and its arguments. Args[0] is looked up in PATH unless it contains a path separator.
	Args []string
	// Env is added to this process's environment, as "NAME=value". The last value of a name counts.
	Env []string
	// Stdin, Stdout and Stderr are handed to the command as they are. Nil means this process's own.
	Stdin, Stdout, Stderr *os.File
	// Grace is how long the group may take to end after it was asked to, before it is killed. Zero: no time at all.
	Grace time.Duration
	// Remaining, unless nil, says how long the command may still run from the moment of the call. It is asked again and
	// again, from a goroutine of the Process, and must not block. When it is used up, the whole group is killed. On Linux
	// and macOS the guard enforces the last answer also while this process is stopped, frozen or starved. Time that the
	// machine spends asleep counts.
	Remaining func() time.Duration
}

func (c *Config) validate() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return errors.New("simba: no command to run: give a command and its arguments")
	}
	if c.Grace < 0 {
		return fmt.Errorf("simba: grace is %v: it must be zero or more", c.Grace)
	}
	return nil
}

// A Process is a started command with everything it started in its group. Its methods may be called from any goroutine.
type Process struct {
	cmd       *exec.Cmd
	group     *group
	grace     time.Duration
	remaining func() time.Duration

	stop     chan struct{} // closed: end the group with grace
	stopOnce sync.Once
	kill     chan struct{} // closed: end the group now
	killOnce sync.Once

	signals sync.Mutex    // held while a signal is sent, so that the group's id is still its own
	done    chan struct{} // closed when exit and err are final
	over    bool          // guarded by signals: the group's id may be another's by now
	exit    Exit
	err     error
}

// Start starts the command. ctx bounds the starting only. An error that is a [*StartError] is about the command itself
// and carries the exit code that a shell would give; after any error nothing is left running.
// Whoever starts a Process must call Wait or Stop.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("simba: command %q not started: %w", cfg.Args[0], context.Cause(ctx))
	}
	if err := Find(cfg.Args[0]); err != nil {
		return nil, err
	}
	cmd := exec.Command(cfg.Args[0], cfg.Args[1:]...)
	cmd.Env = append(os.Environ(), cfg.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = or(cfg.Stdin, os.Stdin), or(cfg.Stdout, os.Stdout), or(cfg.Stderr, os.Stderr)

	p := &Process{
		cmd: cmd, grace: cfg.Grace, remaining: cfg.Remaining,
		stop: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
	}
	var err error
	if p.group, err = startGroup(ctx, cmd, cfg.Remaining); err != nil {
		return nil, err
	}
	go p.supervise()
	return p, nil
}

// Find returns a [*StartError] if there is no such command. It is for those who start it much later, and would rather
// know now.
func Find(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return startError(name, err)
	}
	return nil
}

func or(f, standard *os.File) *os.File {
	if f == nil {
		return standard
	}
	return f
}

// PID is the process id of the command itself.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the command and its whole group are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the command ended, once its whole group is gone. What the command leaves behind in its group when it
// ends by itself is stopped as by Stop: work that is allowed only as long as the command runs must not go on after it.
//
// The error does not speak of the command's failure. It is a [*SurvivorError] when something could not be killed, and
// matches [ErrGuardLost] when the group was stopped because its guard had been killed.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Stop asks the group to end (SIGTERM; on Windows CTRL_BREAK), kills it when the grace is over or ctx is done, whichever
// is first, and returns when it is gone. With a ctx that is already done it kills at once. Stop may be called any number
// of times; the earliest end counts. The grace is the whole group's: workers under a shell that died at once still have
// it.
func (p *Process) Stop(ctx context.Context) {
	p.stopOnce.Do(func() { close(p.stop) })
	select {
	case <-p.done:
	case <-ctx.Done():
		p.killNow()
		<-p.done
	}
}

func (p *Process) killNow() { p.killOnce.Do(func() { close(p.kill) }) }

// supervise takes the group from its first to its last moment.
func (p *Process) supervise() {
	defer close(p.done)
	var feeding sync.WaitGroup
	if p.remaining != nil {
		feeding.Go(p.feed)
	}
	select {
	case <-p.group.exited:
	case <-p.stop:
	case <-p.kill:
	case <-p.group.gone:
		if p.group.expired {
			p.killNow() // the guard ended the group, but the command may have left it
		} else {
			p.err = ErrGuardLost
		}
	}
	p.group.terminate()
	if !p.drain(time.After(p.grace), p.kill) {
		p.group.kill()
		if !p.drain(time.After(reapBound), nil) {
			p.err = errors.Join(p.err, &SurvivorError{PIDs: p.survivors()})
		}
	}
	p.killNow() // ends feed
	feeding.Wait()
	p.exit = p.result()
	p.signals.Lock()
	defer p.signals.Unlock()
	p.group.close(p.exit)
	p.over = true
}

// drain waits until the command and the rest of its group are gone, and reports whether that came before limit and kill.
func (p *Process) drain(limit <-chan time.Time, kill <-chan struct{}) bool {
	select {
	case <-p.group.exited:
	case <-limit:
		return false
	case <-kill:
		return false
	}
	// Nobody tells us when processes that are not our children end, so look, ever less often.
	for pause := time.Millisecond; len(p.group.live()) > 0; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-limit:
			return false
		case <-kill:
			return false
		}
	}
	return true
}

// feed tells the guard again and again until when the group may run, and ends it when that is over.
func (p *Process) feed() {
	for {
		left := p.group.extend(p.remaining)
		if left <= 0 {
			p.killNow()
			return
		}
		// A third: two looks may come late before the guard acts on an answer that a newer one has replaced.
		select {
		case <-time.After(max(left/3, minFeed)):
		case <-p.kill:
			return
		}
	}
}

func (p *Process) survivors() []int {
	pids := p.group.live()
	if !p.reaped() && !slices.Contains(pids, p.PID()) {
		pids = append(pids, p.PID()) // it left the group
	}
	return pids
}

func (p *Process) reaped() bool {
	select {
	case <-p.group.exited:
		return true
	default:
		return false
	}
}

func (p *Process) result() Exit {
	if !p.reaped() {
		return Exit{Code: 128 + killSignal, Signal: killSignal}
	}
	e := exitOf(p.cmd.ProcessState)
	e.Interrupted = p.group.foreground() && (e.Code == 128+interruptSignal || e.Code == 128+quitSignal)
	return e
}
