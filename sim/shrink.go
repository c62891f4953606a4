package sim

import "slices"

// Shrink looks for fewer and smaller decisions that still fail, and returns the best
// it has found. Fails tells whether decisions make the same failure happen; it is
// asked at most limit times, and the decisions to start with must fail.
//
// It leaves out ever smaller pieces (Zeller's delta debugging), as long as that helps,
// and then makes values smaller. What is left out becomes calm, so every subset is a world.
func Shrink(ds Decisions, limit int, fails func(Decisions) bool) Decisions {
	s := &shrinker{best: slices.Clone(ds), left: limit, fails: fails}
	for lowered := false; s.left > 0; {
		before := len(s.best)
		s.leaveOut()
		switch {
		case len(s.best) < before:
			lowered = false // one that is gone may have kept others
		case lowered:
			return s.best
		default:
			s.lower()
			lowered = true
		}
	}
	return s.best
}

type shrinker struct {
	best  Decisions
	left  int
	fails func(Decisions) bool
}

// try keeps the decisions if they fail.
func (s *shrinker) try(ds Decisions) bool {
	if s.left <= 0 {
		return false
	}
	s.left--
	if !s.fails(ds) {
		return false
	}
	s.best = ds
	return true
}

// leaveOut tries to do without pieces, first of half of all decisions, at last of
// single ones. The last decisions go first: most of what comes after a failure's
// cause is of no account.
func (s *shrinker) leaveOut() {
	for size := max(1, len(s.best)/2); size > 0; size /= 2 {
		for end := len(s.best); end > 0 && s.left > 0; end -= size {
			from := max(0, end-size)
			s.try(slices.Concat(s.best[:from], s.best[end:]))
		}
	}
}

// lower tries smaller values, by halves.
func (s *shrinker) lower() {
	for i := range s.best {
		for low, high := int64(0), s.best[i].Value; high-low > 1 && s.left > 0; {
			ds := slices.Clone(s.best)
			ds[i].Value = low + (high-low)/2
			if s.try(ds) {
				high = ds[i].Value
			} else {
				low = ds[i].Value
			}
		}
	}
}
