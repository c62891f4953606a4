package report

import (
	"encoding/json"
	"time"
)

// band is a stretch of time in which something was so.
type band struct {
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
	State string        `json:"state,omitempty"`
	Token string        `json:"token,omitempty"`
	Entry int           `json:"entry"`          // that began it
	Open  bool          `json:"open,omitempty"` // still so at the world's end
}

// strip is a sequence of bands. Those with different keys may overlap, those with one key replace each other.
type strip struct {
	bands []band
	open  map[string]int // by key, the place of the band that has not ended
}

func newStrip() *strip { return &strip{bands: []band{}, open: map[string]int{}} }

// MarshalJSON writes the bands.
func (s *strip) MarshalJSON() ([]byte, error) { return json.Marshal(s.bands) }

// begin lets a band begin, and the one before it with that key end, unless that already says the same.
func (s *strip) begin(key string, b band) {
	if i, ok := s.open[key]; ok && s.bands[i].State == b.State && s.bands[i].Token == b.Token {
		return
	}
	s.end(key, b.From)
	s.open[key] = len(s.bands)
	s.bands = append(s.bands, b)
}

// end reports whether there was a band to end.
func (s *strip) end(key string, at time.Duration) bool {
	i, ok := s.open[key]
	if ok {
		s.bands[i].To = at
		delete(s.open, key)
	}
	return ok
}

func (s *strip) endAll(at time.Duration) {
	for key := range s.open {
		s.end(key, at)
	}
}

// finish ends what is still so when the world ends.
func (s *strip) finish(at time.Duration) {
	for _, i := range s.open {
		s.bands[i].Open = true
	}
	s.endAll(at)
}
