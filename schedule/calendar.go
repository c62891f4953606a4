package schedule

import (
	"fmt"
	"strings"
	"time"

	lib "github.com/netresearch/go-cron"
)

// calendar is a cron line in a time zone.
//
// The library only says what the line means, on a calendar without a time zone.
// What a zone makes of that is decided here, because libraries go by hours, and zones
// do not: Lord Howe Island moves its clocks by half an hour.
type calendar struct {
	spec *lib.SpecSchedule // in UTC, which stands for the reading of a local clock
	zone *time.Location
	// hourly lines have ticks in each hour of a day. Such a line means "so often", and
	// follows real time: through an hour that comes twice, too. Others mean a time of
	// day, which comes once a day.
	hourly bool
}

// searchYears is how far a tick may be away: 29 February 2096 to 2104 are eight.
const searchYears = 12

// newCalendar reads a line and a zone.
func newCalendar(line, zone string) (*calendar, []*Error) {
	var broken []*Error
	refuse := func(f Field, format string, args ...any) {
		broken = append(broken, &Error{Field: f, Problem: fmt.Sprintf(format, args...)})
	}
	spec, problem := parse(line)
	if problem != "" {
		refuse(FieldCron, "%s", problem)
	}
	switch zone {
	case "":
		refuse(FieldZone, `it is empty; name one, such as "Europe/Berlin" or "UTC"`)
		return nil, broken
	case "Local", "localtime":
		refuse(FieldZone, `%q is that of the machine, and the next leader may have another one; name it, such as "Europe/Berlin" or "UTC"`, zone)
		return nil, broken
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		refuse(FieldZone, `%q is not known here; name one of the tz database, such as "Europe/Berlin" or "UTC"`, zone)
	}
	if len(broken) > 0 {
		return nil, broken
	}
	const allHours = 1<<24 - 1
	return &calendar{spec: spec, zone: loc, hourly: spec.Hour&allHours == allHours}, nil
}

var parser = lib.MustNewParser(lib.Minute | lib.Hour | lib.Dom | lib.Month | lib.Dow | lib.Descriptor | lib.DowOrDom).
	WithMaxSearchYears(searchYears)

// parse returns what a line means, or what is wrong with it.
func parse(line string) (*lib.SpecSchedule, string) {
	const right = `write minute, hour, day of month, month and day of week, such as "0 3 * * *", or one of @hourly, @daily, @weekly, @monthly and @yearly`
	fields := strings.Fields(line)
	switch {
	case len(fields) == 0:
		return nil, "it is empty; " + right
	case strings.HasPrefix(line, "TZ=") || strings.HasPrefix(line, "CRON_TZ="):
		return nil, fmt.Sprintf("%q has a time zone in it; give the zone by itself", line)
	case strings.HasPrefix(fields[0], "@every"):
		return nil, fmt.Sprintf("%q is an interval; use Rate or Every", line)
	case fields[0][0] != '@' && len(fields) != 5:
		return nil, fmt.Sprintf("%q has %d fields instead of 5; %s", line, len(fields), right)
	}
	for _, f := range fields {
		for part := range strings.SplitSeq(f, ",") {
			switch {
			case part == "":
				return nil, fmt.Sprintf("%q has a comma too many in %q", line, f)
			case strings.HasPrefix(part, "*-"), strings.HasPrefix(part, "?-"): // which the library takes for all
				return nil, fmt.Sprintf("%q has a range from an asterisk in %q; write a number before the -", line, f)
			}
		}
	}
	parsed, err := parser.Parse(line)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), ": strconv.") // which says nothing to a user
		return nil, fmt.Sprintf("%q: %s; %s", line, why, right)
	}
	spec, ok := parsed.(*lib.SpecSchedule)
	if !ok {
		return nil, fmt.Sprintf("%q is no calendar; %s", line, right)
	}
	spec.Location = time.UTC
	// Whatever ever happens happens within eight years of a leap year that is followed
	// by another.
	if spec.Next(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Sprintf("%q never comes: no such month has such a day", line)
	}
	return spec, ""
}

// next returns the first tick after a moment, if there is one in sight.
//
// A zone is a row of stretches with the same distance from UTC, and within one the
// local clock is as good as any. Where two meet, the clock jumps. Ahead: what is left
// out is made up for at once, by one tick. Back: what comes twice counts the first
// time. Hourly lines go by real time in both cases.
func (c *calendar) next(after Moment) (Moment, bool) {
	at := time.Unix(0, int64(after)).In(c.zone)
	start, end := at.ZoneBounds()
	ahead := offset(at)
	from := local(at, ahead) // ticks are after this
	if !start.IsZero() {
		from = c.pastRepeated(from, start, offset(start.Add(-1).In(c.zone)))
	}
	const stretches = 200 // more than any zone has in so many years
	for range stretches {
		reading := c.spec.Next(from)
		if reading.IsZero() {
			return 0, false
		}
		tick := reading.Add(-ahead)
		if end.IsZero() || tick.Before(end) {
			return Moment(tick.UnixNano()), true
		}
		end = end.In(c.zone)
		then := offset(end)
		if !c.hourly && reading.Before(local(end, then)) { // left out
			return Moment(end.UnixNano()), true
		}
		from = c.pastRepeated(local(end, then).Add(-1), end, ahead)
		ahead = then
		_, end = end.ZoneBounds()
	}
	return 0, false
}

// pastRepeated moves from past those readings that the local clock shows for the
// second time after it was set back at a start.
func (c *calendar) pastRepeated(from, start time.Time, before time.Duration) time.Time {
	if again := local(start, before).Add(-1); !c.hourly && from.Before(again) {
		return again
	}
	return from
}

// offset is by how much local time is ahead of UTC.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// local is the reading of a local clock, as if it were UTC.
func local(t time.Time, ahead time.Duration) time.Time { return t.UTC().Add(ahead) }
