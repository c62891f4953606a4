package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// story says what happens, and when.
type story struct {
	mu    sync.Mutex
	out   io.Writer
	dir   string
	began time.Time
	cast  []*process
}

func (s *story) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// process is one of the two that write.
type process struct {
	label string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at the end of its output
	over  bool
}

func (s *story) start(label string) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{label: label, cmd: exec.Command(exe, s.dir), lines: make(chan string, 100)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+label)
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.cast = append(s.cast, p)
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.say("the %s process (pid %d) %s", label, p.cmd.Process.Pid, lines.Text())
			p.lines <- lines.Text()
		}
	}()
	return p, nil
}

// patience is more than a takeover needs.
const patience = 5 * lease

// until waits for a line that contains the words.
func (p *process) until(words string) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.over = true
				return p.failure()
			}
			if strings.Contains(line, words) {
				return nil
			}
		case <-late.C:
			return fmt.Errorf("the %s process does not say %q", p.label, words)
		}
	}
}

func (p *process) ended() bool { return p.over }

func (p *process) failure() error {
	return fmt.Errorf("the %s process has ended too early", p.label)
}

// goOn lets it read on, once it runs.
func (p *process) goOn() { fmt.Fprintln(p.in, "go on") }

// stumble lets it run for a moment.
func (p *process) stumble() error {
	if err := p.resume(); err != nil {
		return err
	}
	time.Sleep(lease / 20)
	return p.stop()
}

// end ends the processes, stopped or not.
func (s *story) end() {
	for _, p := range s.cast {
		p.in.Close()
		p.cmd.Process.Kill()
		for range p.lines { // what is left must be read before Wait
		}
		p.cmd.Wait()
	}
}
