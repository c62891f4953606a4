package drivertest

import (
	"strings"
	"testing"
	"time"
)

// A record of what must not be is an error.
func TestRecordCheck(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for name, c := range map[string]struct {
		write func(r *Record)
		says  string
	}{
		"well": {func(r *Record) {
			r.begin(Term{Who: 1, Token: 1, From: at(0), Until: at(9)})
			r.end(1, at(5))
			r.begin(Term{Who: 2, Token: 2, From: at(5), Until: at(9)})
			r.renewed(2, at(20))
			r.begin(Term{Who: 1, Token: 3, From: at(20), Until: at(30)})
		}, ""},
		"two at once": {func(r *Record) {
			r.begin(Term{Who: 1, Token: 1, From: at(0), Until: at(9)})
			r.begin(Term{Who: 2, Token: 2, From: at(8), Until: at(20)})
		}, "was over"},
		"renewed for longer": {func(r *Record) {
			r.begin(Term{Who: 1, Token: 1, From: at(0), Until: at(9)})
			r.renewed(1, at(11))
			r.begin(Term{Who: 2, Token: 2, From: at(10), Until: at(20)})
		}, "was over"},
		"tokens go down": {func(r *Record) {
			r.begin(Term{Who: 1, Token: 2, From: at(0), Until: at(1)})
			r.begin(Term{Who: 2, Token: 1, From: at(2), Until: at(3)})
		}, "came after"},
		"a token twice": {func(r *Record) {
			r.begin(Term{Who: 1, Token: 2, From: at(0), Until: at(1)})
			r.begin(Term{Who: 2, Token: 2, From: at(2), Until: at(3)})
		}, "have the token"},
	} {
		var r Record
		c.write(&r)
		err := r.Check()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
