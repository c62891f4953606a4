package schedule

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func calendarOf(t interface{ Fatal(...any) }, line, zone string) *calendar {
	c, broken := newCalendar(line, zone)
	if len(broken) > 0 {
		t.Fatal(broken[0])
	}
	return c
}

// ticksBetween returns the ticks after one time and up to another, as they read with
// their distance from UTC.
func ticksBetween(c *calendar, from, to time.Time) []string {
	var got []string
	at := Moment(from.UnixNano())
	for {
		tick, ok := c.next(at)
		if !ok || tick > Moment(to.UnixNano()) {
			return got
		}
		got = append(got, time.Unix(0, int64(tick)).In(c.zone).Format("2006-01-02 15:04 -0700"))
		at = tick
	}
}

// TestCalendar is about the days on which clocks are moved, and the calendar's own
// odd days.
func TestCalendar(t *testing.T) {
	for _, tt := range []struct {
		name, line, zone string
		from, to         string // by the zone's clock
		want             []string
	}{
		{"every day", "0 3 * * *", "Europe/Berlin", "2026-06-01 03:00", "2026-06-03 12:00",
			[]string{"2026-06-02 03:00 +0200", "2026-06-03 03:00 +0200"}},
		{"in the hour that is left out", "30 2 * * *", "Europe/Berlin", "2026-03-28 00:00", "2026-03-30 12:00",
			[]string{"2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		{"several times in it", "*/15 2 * * *", "Europe/Berlin", "2026-03-29 00:00", "2026-03-30 02:10",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"}},
		{"in it and right after", "0 2,3 * * *", "Europe/Berlin", "2026-03-29 00:00", "2026-03-29 12:00",
			[]string{"2026-03-29 03:00 +0200"}},
		{"in the hour that comes twice", "30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-26 12:00",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		{"at its very end", "0 3 * * *", "Europe/Berlin", "2026-10-25 00:00", "2026-10-25 12:00",
			[]string{"2026-10-25 03:00 +0100"}},
		{"at its very begin", "0 2 * * *", "Europe/Berlin", "2026-10-25 00:00", "2026-10-25 12:00",
			[]string{"2026-10-25 02:00 +0200"}},
		{"hourly goes on through an hour that comes twice", "30 * * * *", "Europe/Berlin", "2026-10-25 01:00", "2026-10-25 04:00",
			[]string{"2026-10-25 01:30 +0200", "2026-10-25 02:30 +0200", "2026-10-25 02:30 +0100", "2026-10-25 03:30 +0100"}},
		{"hourly has no hour that is left out", "30 * * * *", "Europe/Berlin", "2026-03-29 01:00", "2026-03-29 04:00",
			[]string{"2026-03-29 01:30 +0100", "2026-03-29 03:30 +0200"}},
		{"every other hour", "0 */2 * * *", "Europe/Berlin", "2026-03-29 00:30", "2026-03-29 06:30",
			[]string{"2026-03-29 03:00 +0200", "2026-03-29 04:00 +0200", "2026-03-29 06:00 +0200"}},

		{"New York, left out", "30 2 * * *", "America/New_York", "2026-03-08 00:00", "2026-03-09 12:00",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:30 -0400"}},
		{"New York, twice", "30 1 * * *", "America/New_York", "2026-11-01 00:00", "2026-11-02 12:00",
			[]string{"2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"}},
		{"New York, weekly", "30 1 * * 7", "America/New_York", "2026-10-26 00:00", "2026-11-09 00:00",
			[]string{"2026-11-01 01:30 -0400", "2026-11-08 01:30 -0500"}},

		// 02:00 to 02:30 is left out on 4 October, 01:30 to 02:00 comes twice on 5 April.
		{"Lord Howe, left out", "15 2 * * *", "Australia/Lord_Howe", "2026-10-04 00:00", "2026-10-05 12:00",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}},
		{"Lord Howe, after what is left out", "45 2 * * *", "Australia/Lord_Howe", "2026-10-04 00:00", "2026-10-04 12:00",
			[]string{"2026-10-04 02:45 +1100"}},
		{"Lord Howe, twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-05 00:00", "2026-04-06 12:00",
			[]string{"2026-04-05 01:45 +1100", "2026-04-06 01:45 +1030"}},
		{"Lord Howe, before what comes twice", "15 1 * * *", "Australia/Lord_Howe", "2026-04-05 00:00", "2026-04-05 12:00",
			[]string{"2026-04-05 01:15 +1100"}},
		{"Lord Howe, every half hour", "*/30 * * * *", "Australia/Lord_Howe", "2026-04-05 01:00", "2026-04-05 02:10",
			[]string{"2026-04-05 01:30 +1100", "2026-04-05 01:30 +1030", "2026-04-05 02:00 +1030"}},

		// Samoa had no 30 December 2011.
		{"a day that is left out", "0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", "2012-01-01 00:00",
			[]string{"2011-12-29 12:00 -1000", "2011-12-31 00:00 +1400", "2011-12-31 12:00 +1400"}},

		{"29 February", "0 0 29 2 *", "UTC", "2026-01-01 00:00", "2033-01-01 00:00",
			[]string{"2028-02-29 00:00 +0000", "2032-02-29 00:00 +0000"}},
		{"29 February, and no leap year in 2100", "0 0 29 2 *", "UTC", "2096-03-01 00:00", "2105-01-01 00:00",
			[]string{"2104-02-29 00:00 +0000"}},
		{"the 31st", "0 0 31 * *", "UTC", "2026-01-31 00:00", "2026-06-01 00:00",
			[]string{"2026-03-31 00:00 +0000", "2026-05-31 00:00 +0000"}},
		{"day of month or day of week", "0 0 13 * FRI", "UTC", "2026-02-01 00:00", "2026-02-21 00:00",
			[]string{"2026-02-06 00:00 +0000", "2026-02-13 00:00 +0000", "2026-02-20 00:00 +0000"}},
		{"Sunday is 0", "0 0 * * 0", "UTC", "2026-02-01 00:00", "2026-02-08 00:00", []string{"2026-02-08 00:00 +0000"}},
		{"Sunday is 7", "0 0 * * 7", "UTC", "2026-02-01 00:00", "2026-02-08 00:00", []string{"2026-02-08 00:00 +0000"}},
		{"@daily", "@daily", "Europe/Berlin", "2026-02-01 00:00", "2026-02-02 10:00", []string{"2026-02-02 00:00 +0100"}},
		{"@yearly", "@yearly", "Europe/Berlin", "2026-02-01 00:00", "2027-02-02 10:00", []string{"2027-01-01 00:00 +0100"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := calendarOf(t, tt.line, tt.zone)
			at := func(s string) time.Time {
				at, err := time.ParseInLocation("2006-01-02 15:04", s, c.zone)
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			if got := ticksBetween(c, at(tt.from), at(tt.to)); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestCalendarIsComplete compares it with a look at every minute of some days around
// a change: those minutes of an hourly line that match, and each matching reading of
// any other line once, however often the clock shows it.
func TestCalendarIsComplete(t *testing.T) {
	changes := map[string][]string{
		"Europe/Berlin":       {"2026-03-29", "2026-10-25"},
		"America/New_York":    {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
		"America/Sao_Paulo":   {"2018-11-04", "2018-02-18"}, // at midnight
		"Asia/Kathmandu":      {"2026-01-01", "1986-01-01"}, // never, and by 15 minutes
		"UTC":                 {"2026-02-28", "2028-02-28"},
	}
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		line := rapid.SampledFrom([]string{"0", "30", "*/7", "15,45", "59", "*"}).Draw(t, "minute") + " " +
			rapid.SampledFrom([]string{"*", "0", "1", "2", "3", "*/2", "0-3", "22-1", "0-23"}).Draw(t, "hour") + " " +
			rapid.SampledFrom([]string{"*", "*/2", "1-15"}).Draw(t, "day") + " * " +
			rapid.SampledFrom([]string{"*", "SUN", "5-7"}).Draw(t, "weekday")
		c := calendarOf(t, line, zone)
		day, err := time.ParseInLocation("2006-01-02", rapid.SampledFrom(changes[zone]).Draw(t, "day of change"), c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from := day.Add(-24*time.Hour + time.Duration(rapid.IntRange(0, 2000).Draw(t, "minutes"))*time.Minute)
		to := from.Add(50 * time.Hour)
		if got, want := ticksBetween(c, from, to), minuteByMinute(c, day.Add(-100*time.Hour), from, to); !slices.Equal(got, want) {
			t.Fatalf("%q in %s after %v:\ngot  %q\nwant %q", line, zone, from, got, want)
		}
	})
}

// minuteByMinute finds the ticks in (from, to] the slow way.
func minuteByMinute(c *calendar, begin, from, to time.Time) []string {
	matches := func(reading time.Time) bool { return c.spec.Next(reading.Add(-1)).Equal(reading) }
	reading := func(at time.Time) time.Time { return local(at, offset(at)) }
	var got []string
	shown := make(map[time.Time]bool)
	for at := begin; !at.After(to); at = at.Add(time.Minute) {
		now := reading(at)
		tick := matches(now) && (c.hourly || !shown[now])
		shown[now] = true
		for r := reading(at.Add(-time.Minute)).Add(time.Minute); r.Before(now) && !c.hourly; r = r.Add(time.Minute) {
			tick = tick || matches(r)
			shown[r] = true
		}
		if tick && at.After(from) {
			got = append(got, at.Format("2006-01-02 15:04 -0700"))
		}
	}
	return got
}

// TestPlanErrors: what is wrong is said by field, all at once.
func TestPlanErrors(t *testing.T) {
	for _, tt := range []struct {
		name          string
		when          When
		delay, jitter time.Duration
		durable       bool
		want          []string // the field and a part of each problem
	}{
		{"nothing", When{}, 0, 0, false, []string{"time: nothing says when"}},
		{"an interval of zero", Every(0), 0, 0, false, []string{"interval: it is 0s"}},
		{"a negative one", Rate(-time.Second), 0, 0, false, []string{"interval: it is -1s"}},
		{"a negative delay and jitter", Every(1), -1, -2, false, []string{"initial delay: it is -1ns", "jitter: it is -2ns"}},
		{"a jitter as long as the interval", Rate(time.Second), 0, time.Second, false, []string{"jitter: it is 1s; it must be below the interval of 1s"}},
		{"an empty line and zone", Cron("", ""), 0, 0, false, []string{"cron line: it is empty", "time zone: it is empty"}},
		{"spaces", Cron("  ", "UTC"), 0, 0, false, []string{"cron line: it is empty"}},
		{"four fields", Cron("0 3 * *", "UTC"), 0, 0, false, []string{`cron line: "0 3 * *" has 4 fields instead of 5`}},
		{"seconds", Cron("0 0 3 * * *", "UTC"), 0, 0, false, []string{`has 6 fields instead of 5`}},
		{"a minute that there is not", Cron("61 3 * * *", "UTC"), 0, 0, false, []string{`cron line: "61 3 * * *"`}},
		{"no number", Cron("x 3 * * *", "UTC"), 0, 0, false, []string{`cron line: "x 3 * * *"`}},
		{"an unknown word", Cron("@sometimes", "UTC"), 0, 0, false, []string{`cron line: "@sometimes"`}},
		{"a step of zero", Cron("*/0 * * * *", "UTC"), 0, 0, false, []string{`cron line: "*/0 * * * *"`}},
		{"a comma too many", Cron("0,,3 * * * *", "UTC"), 0, 0, false, []string{`has a comma too many in "0,,3"`}},
		{"a zone in the line", Cron("TZ=UTC 0 3 * * *", "UTC"), 0, 0, false, []string{"has a time zone in it"}},
		{"another", Cron("CRON_TZ=UTC 0 3 * * *", "UTC"), 0, 0, false, []string{"has a time zone in it"}},
		{"an interval as a line", Cron("@every 1h", "UTC"), 0, 0, false, []string{"is an interval; use Rate or Every"}},
		{"30 February", Cron("0 0 30 2 *", "UTC"), 0, 0, false, []string{`cron line: "0 0 30 2 *" never comes`}},
		{"31 April", Cron("0 0 31 4,6,9,11 *", "UTC"), 0, 0, false, []string{"never comes"}},
		{"a zone that is not known", Cron("0 3 * * *", "Europe/Bärlin"), 0, 0, false, []string{`time zone: "Europe/Bärlin" is not known here`}},
		{"a durable Every", Every(1), 0, 0, true, []string{"durability: Every has none"}},
		{"the zone of the machine", Cron("0 3 * * *", "Local"), 0, 0, false, []string{`time zone: "Local" is that of the machine`}},
		{"its other name", Cron("0 3 * * *", "localtime"), 0, 0, false, []string{`time zone: "localtime" is that of the machine`}},
		{"a range from an asterisk", Cron("*-5 3 * * *", "UTC"), 0, 0, false, []string{`cron line: "*-5 3 * * *" has a range from an asterisk in "*-5"`}},
		{"another, in a list", Cron("0 3 * * 1,?-5/2", "UTC"), 0, 0, false, []string{`has a range from an asterisk in "1,?-5/2"`}},
		{"a delay and jitter of centuries", Cron("0 3 * * *", "UTC"), math.MaxInt64, math.MaxInt64, false,
			[]string{"initial delay: it is 2562047h47m16.854775807s; it must be at most 876000h", "jitter: it is 2562047h47m16.854775807s; it must be at most 876000h"}},
		{"a path", Cron("0 3 * * *", "../etc/passwd"), 0, 0, false, []string{`time zone: "../etc/passwd" is not known`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewPlan("report", tt.when, Options{Delay: tt.delay, Jitter: tt.jitter, Durable: tt.durable})
			if err == nil {
				t.Fatal("it is taken")
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(tt.want) {
				t.Fatalf("the error is %v", err)
			}
			for i, want := range tt.want {
				field, problem, ok := strings.Cut(want, ": ")
				if !ok {
					field, problem = "cron line", want
				}
				if !strings.Contains(got[i], "the "+field+` of schedule "report": `) || !strings.Contains(got[i], problem) {
					t.Errorf("the error is %q, want %q", got[i], want)
				}
			}
			var e *Error
			if !errors.As(err, &e) || e.Name != "report" || e.Problem == "" {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

// TestLook is what a look at the wall clock makes of its jumps.
func TestLook(t *testing.T) {
	plan := func(delay time.Duration) *Plan {
		p, err := NewPlan("report", Cron("0 * * * *", "UTC"), Options{Delay: delay})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	at := func(h, m int) Moment {
		return Moment(time.Date(2026, 5, 1, h, m, 0, 0, time.UTC).UnixNano())
	}
	for _, tt := range []struct {
		name       string
		delay      time.Duration
		now, after Moment
		fresh      bool
		tick       Moment
		missed     int
	}{
		{"the first", 0, at(10, 30), 0, true, at(11, 0), 0},
		{"the first, at a tick", 0, at(10, 0), 0, true, at(10, 0), 0},
		{"the first, with a delay", 45 * time.Minute, at(10, 30), 0, true, at(12, 0), 0},
		{"the next", 0, at(10, 30), at(10, 0), false, at(11, 0), 0},
		{"due", 0, at(11, 0), at(10, 0), false, at(11, 0), 0},
		{"set ahead", 0, at(15, 30), at(10, 0), false, at(11, 0), 4},
		{"set back a little", 0, at(9, 30), at(12, 0), false, at(13, 0), 0},
		{"set back by much", 0, at(5, 30), at(12, 0), false, at(6, 0), 0},
		{"a long delay is no step back", 5 * time.Hour, at(5, 30), at(10, 30), false, at(11, 0), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := plan(tt.delay).look(tt.now, tt.after, tt.fresh)
			if got.none || got.tick != tt.tick || got.missed != tt.missed {
				t.Errorf("got %+v, want the tick %d and %d missed", got, tt.tick, tt.missed)
			}
		})
	}
}
