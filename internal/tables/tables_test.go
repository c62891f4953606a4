package tables

import (
	"errors"
	"testing"

	"github.com/looplab/fsm"

	"github.com/simba-go/simba/actor"
)

type lamp uint8

func (l lamp) String() string { return [...]string{"off", "on"}[l] }

const off, on lamp = 0, 1

func TestVerdict(t *testing.T) {
	undefined := func(state, event lamp) error {
		return &actor.UndefinedError{Machine: "lamp", State: state.String(), Event: event.String()}
	}
	refused := fsm.InvalidEventError{Event: "on", State: "off"}
	tests := []struct {
		name     string
		err      error
		twin     error
		disagree bool
	}{
		{"both move", nil, nil, false},
		{"both stay", nil, fsm.NoTransitionError{}, false},
		{"both refuse", undefined(off, on), refused, false},
		{"both refuse, of another state", undefined(on, on), refused, true},
		{"both refuse, of another event", undefined(off, off), refused, true},
		{"refused for another reason", errors.New("broken"), refused, true},
		{"the twin refuses", nil, refused, true},
		{"the twin fails over a state that stays", nil, fsm.NoTransitionError{Err: errors.New("broken")}, true},
		{"the machine refuses", undefined(off, on), nil, true},
		{"the machine refuses to stay", undefined(off, on), fsm.NoTransitionError{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := verdict(off, on, test.err, test.twin); (err != nil) != test.disagree {
				t.Errorf("verdict: %v", err)
			}
		})
	}
}
