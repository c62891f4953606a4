package schedule

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
)

// Moment is a time of the wall clock, in nanoseconds since 1970. Unlike an
// [actor.Instant] it may jump, in both directions.
type Moment int64

// kind tells the ways to say when.
type kind uint8

const (
	unset kind = iota
	every
	rate
	cron
)

func (k kind) String() string {
	return actor.NameOf([]string{"no time", "Every", "Rate", "Cron"}, uint8(k), "kind")
}

// When says when a function is to run while its client leads: [Every], [Rate] or
// [Cron]. Whether it makes sense is checked by [NewPlan].
type When struct {
	kind       kind
	interval   time.Duration
	line, zone string
}

// Every is a fixed delay: each run begins an interval after the end of the one
// before. The first one begins when the term does.
func Every(interval time.Duration) When { return When{kind: every, interval: interval} }

// Rate is a fixed rate: ticks come an interval apart, whatever a run takes. Those
// that pass during a run are made up for by one run, and the next ticks keep to the
// rhythm. The first one comes when the term begins.
func Rate(interval time.Duration) When { return When{kind: rate, interval: interval} }

// Cron is a line of five fields (minute, hour, day of month, month, day of week), or
// one of @hourly, @daily, @weekly, @monthly and @yearly, by the wall clock of a time
// zone, such as "Europe/Berlin" or "UTC".
func Cron(line, zone string) When { return When{kind: cron, line: line, zone: zone} }

// String is how the user wrote it.
func (w When) String() string {
	switch w.kind {
	case cron:
		return fmt.Sprintf("Cron(%q, %q)", w.line, w.zone)
	case every, rate:
		return fmt.Sprintf("%v(%v)", w.kind, w.interval)
	}
	return w.kind.String()
}

// Error says what is wrong with a schedule, by the field of which it is.
type Error struct {
	Name    string // of the schedule; may be empty
	Field   Field  // that is wrong
	Problem string // the value, and what would be right
}

// Field is a part of a schedule that may be wrong.
type Field string

// The fields.
const (
	FieldWhen     Field = "time"     // nothing says when it runs
	FieldInterval Field = "interval" // of Every or Rate
	FieldCron     Field = "cron line"
	FieldZone     Field = "time zone"
	FieldDelay    Field = "initial delay"
	FieldJitter   Field = "jitter"
	FieldDurable  Field = "durability"
	FieldFunction Field = "function"
	FieldOption   Field = "option"
)

// Error names the schedule, the field and the problem.
func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("simba: the %s of the schedule: %s", e.Field, e.Problem)
	}
	return fmt.Sprintf("simba: the %s of schedule %q: %s", e.Field, e.Name, e.Problem)
}
