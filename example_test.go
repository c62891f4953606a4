package simba_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
)

// A client needs a store and nothing else. Here it is one within the process;
// usually it is one that several processes share, like a file of package sqlite.
func ExampleOpen() {
	ctx := context.Background()
	store := memory.New()
	client, err := simba.Open(ctx, store,
		simba.WithLease(10*time.Second), // how long others wait after a crash
		simba.WithLabel("web-3"),        // what others see as the holder
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx) // hands everything over

	s := client.Snapshot()
	fmt.Println(s.State, s.Interval.Round(time.Millisecond))
	// Output: LIVE 3.333s
}

// Every broken rule is named at once.
func ExampleOpen_invalid() {
	_, err := simba.Open(context.Background(), memory.New(),
		simba.WithRenewInterval(10*time.Second), simba.WithDrift(0.7))
	var params *simba.ParamsError
	if errors.As(err, &params) {
		for _, broken := range params.Broken {
			fmt.Println(broken)
		}
	}
	// Output:
	// the drift is 0.7; it must be at least 0 and below 0.5
	// the renew interval 10s does not fit twice into the lease 15s; it must be at most 7.5s
}

// Lead runs a function on one process at a time, until it is done once.
func ExampleClient_Lead() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.Lead(ctx, "billing", func(ctx context.Context, t *simba.Term) error {
		// ctx ends with the term. Hand t.Token() to what the work writes to.
		fmt.Println("leading", t.Name(), ctx.Err() == nil)
		return errors.New("no invoices today")
	})
	fmt.Println(err)
	// Output:
	// leading billing true
	// no invoices today
}

// Run is for services that start and go on: it returns a handle at once.
func ExampleClient_Run() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	started := make(chan struct{})
	election, err := client.Run("mailer", func(ctx context.Context, t *simba.Term) error {
		close(started)
		<-ctx.Done() // send mail until it is over
		fmt.Println(context.Cause(ctx))
		return nil
	}, simba.OnReturn(simba.Finish), simba.OnFailure(simba.Restart))
	if err != nil {
		log.Fatal(err)
	}
	<-started
	if err := election.Stop(ctx); err != nil { // waits until the task has returned
		log.Fatal(err)
	}
	fmt.Println(election.Snapshot().Status)
	// Output:
	// simba: the term is being handed over
	// STOPPED
}

// Schedule runs a function again and again, on one process at a time.
func ExampleClient_Schedule() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	runs := make(chan int)
	n := 0
	schedule, err := client.Schedule("report", simba.Rate(10*time.Millisecond), func(ctx context.Context, t *simba.Term) error {
		n++ // no two runs at once
		select {
		case runs <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-runs, <-runs, <-runs)
	if err := schedule.Stop(ctx); err != nil { // waits until a run has returned
		log.Fatal(err)
	}
	fmt.Println(schedule.Snapshot().Status)
	// Output:
	// 1 2 3
	// STOPPED
}

// A durable schedule notes at the store what is done with: the next leader neither
// repeats the last tick, nor begins the rhythm anew.
func ExampleDurable() {
	ctx := context.Background()
	store := memory.New() // it keeps notes, and so does package sqlite
	for _, label := range []string{"web-1", "web-2"} {
		client, err := simba.Open(ctx, store, simba.WithLabel(label))
		if err != nil {
			log.Fatal(err)
		}
		running := make(chan struct{}, 1)
		schedule, err := client.Schedule("report", simba.Rate(24*time.Hour), func(context.Context, *simba.Term) error {
			fmt.Println("the report of today, by", label)
			running <- struct{}{}
			return nil
		}, simba.Durable())
		if err != nil {
			log.Fatal(err)
		}
		if label == "web-1" {
			<-running
		}
		for schedule.Snapshot().Next.IsZero() { // until it knows what is due
			time.Sleep(time.Millisecond)
		}
		fmt.Println("the next one by", label, "in a day:", time.Until(schedule.Snapshot().Next) > 23*time.Hour)
		if err := client.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// the report of today, by web-1
	// the next one by web-1 in a day: true
	// the next one by web-2 in a day: true
}

// Cron goes by the wall clock of a time zone. What is wrong is said by field.
func ExampleCheckSchedule() {
	fmt.Println(simba.CheckSchedule(simba.Cron("0 3 * * *", "Europe/Berlin"), simba.Jitter(time.Minute)))
	fmt.Println(simba.CheckSchedule(simba.Cron("0 0 30 2 *", "UTC")))
	err := simba.CheckSchedule(simba.Rate(0))
	var e *simba.ScheduleError
	if errors.As(err, &e) {
		fmt.Println(e.Field)
	}
	// Output:
	// <nil>
	// simba: the cron line of the schedule: "0 0 30 2 *" never comes: no such month has such a day
	// interval
}

// Elect tells a listener of each term, without running anything.
func ExampleClient_Elect() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	elected := make(chan struct{}, 1)
	election, err := client.Elect("cache-warmer", simba.Listener{
		OnElected: func(_ context.Context, t *simba.Term) {
			fmt.Println("elected", t.Valid())
			elected <- struct{}{}
		},
		OnRevoked: func(_ context.Context, t *simba.Term, reason simba.Reason) {
			fmt.Println("revoked", t.Valid(), reason)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	<-elected
	// Let somebody else lead for a minute at least.
	if err := election.StepDown(ctx, time.Minute); err != nil {
		log.Fatal(err)
	}
	fmt.Println(election.Snapshot().Status)
	// Output:
	// elected true
	// revoked false STEPPED_DOWN
	// CANDIDATE
}

// Lock waits for its turn, for as long as the context allows.
func ExampleClient_Lock() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel() // which bounds the wait and not the lock
	lock, err := client.Lock(wait, "invoice-42")
	if err != nil {
		log.Fatal(err) // matches simba.ErrNotAcquired and context.DeadlineExceeded
	}
	defer lock.Release(ctx)

	// Before each step that must not happen twice: is there time for it?
	if err := lock.EnsureValid(2 * time.Second); err != nil {
		log.Fatal(err)
	}
	fmt.Println("locked", lock.Name())
	// Output: locked invoice-42
}

// TryLock says who holds the name.
func ExampleClient_TryLock() {
	ctx := context.Background()
	store := memory.New()
	first, err := simba.Open(ctx, store, simba.WithLabel("web-3:4711"))
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close(ctx)
	second, err := simba.Open(ctx, store)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close(ctx)

	if _, err := first.Lock(ctx, "invoice-42"); err != nil {
		log.Fatal(err)
	}
	_, err = second.TryLock(ctx, "invoice-42")
	var held *simba.HeldError
	if errors.As(err, &held) {
		fmt.Println("held by", held.Holder.Label, errors.Is(err, simba.ErrNotAcquired))
	}
	// Output: held by web-3:4711 true
}

// LockAll takes several names or none, and so never waits in a circle.
func ExampleClient_LockAll() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	locks, err := client.LockAll(ctx, "account-7", "account-3")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Release(ctx)
	for _, t := range locks.Terms() {
		fmt.Println(t.Name(), t.Valid())
	}
	// Output:
	// account-7 true
	// account-3 true
}

// WithLock holds a lock for as long as a function runs.
func ExampleClient_WithLock() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.WithLock(ctx, "invoice-42", func(ctx context.Context, t *simba.Term) error {
		fmt.Println("locked", t.Name(), t.Valid())
		return nil // ctx would have been cancelled, had the lock been lost
	})
	fmt.Println(err)
	// Output:
	// locked invoice-42 true
	// <nil>
}

// Observe follows who holds a name, without contending for it.
func ExampleClient_Observe() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New(), simba.WithLabel("web-3"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	var lock *simba.Lock
	for holder, err := range client.Observe(ctx, "billing") {
		switch {
		case err != nil:
			log.Fatal(err) // or go on: it is yielded once, and the holder again when the store is back
		case holder.Held:
			fmt.Println("held by", holder.Label)
			lock.Release(ctx)
		case lock == nil:
			fmt.Println("vacant")
			lock, _ = client.Lock(ctx, "billing")
		default:
			fmt.Println("vacant again")
			return
		}
	}
	// Output:
	// vacant
	// held by web-3
	// vacant again
}

// Holders asks once.
func ExampleClient_Holders() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New(), simba.WithLabel("web-3"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	if _, err := client.Lock(ctx, "b"); err != nil {
		log.Fatal(err)
	}
	holders, err := client.Holders(ctx, "a", "b") // without names: all that are held
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range holders {
		fmt.Printf("%s held=%v by %q\n", h.Name, h.Held, h.Label)
	}
	// Output:
	// a held=false by ""
	// b held=true by "web-3"
}

// Snapshot is for status pages: it never waits, not even while the store hangs.
func ExampleClient_Snapshot() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.Lead(ctx, "billing", func(context.Context, *simba.Term) error {
		s := client.Snapshot()
		fmt.Println(s.State, s.Leases)
		for _, e := range s.Elections {
			fmt.Println(e.Name, e.Status, e.Running)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// LIVE 1
	// billing LEADER true
}

// register is a resource that checks tokens. In a database, it is an UPDATE with
// "WHERE token <= $1".
type register struct{ token, value uint64 }

func (r *register) write(token, value uint64) error {
	if token < r.token {
		return errors.New("refused: somebody has led since")
	}
	r.token, r.value = token, value
	return nil
}

// A process may be paused between looking at its term and acting. The resource is
// then what keeps a late write of an old leader out.
func Example_fencing() {
	ctx := context.Background()
	client, err := simba.Open(ctx, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	var resource register
	var old uint64
	for i := range uint64(2) {
		err := client.Lead(ctx, "billing", func(_ context.Context, t *simba.Term) error {
			if old == 0 {
				old = t.Token()
			}
			return resource.write(t.Token(), i)
		})
		fmt.Println(err)
	}
	fmt.Println(resource.write(old, 99)) // which was on its way all the time
	// Output:
	// <nil>
	// <nil>
	// refused: somebody has led since
}
