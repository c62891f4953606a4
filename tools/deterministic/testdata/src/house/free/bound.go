package free

func effect(int) int { return 0 }

var last string

func bound(s *state, m map[string]int, n map[string]int, things map[*thing]int, list []int, sum float64, text string, other map[string]bool, c chan int) (string, int) {
	count := 0
	k, v := "", 0
	for k, v = range m { // want `range over a map`
	}
	for k := range m { // want `range over a map`
		effect(len(k))
	}
	for _, v := range m { // want `range over a map`
		s.total += effect(v)
	}
	for k := range m { // want `range over a map`
		text = k
	}
	for k := range m { // want `range over a map`
		text += k
	}
	for _, v := range m { // want `range over a map`
		sum += float64(v)
	}
	for _, v := range m { // want `range over a map`
		v, s.low = s.low, v
	}
	for _, v := range m { // want `range over a map`
		s.total /= v
	}
	for _, v := range m { // want `range over a map`
		s.total += v
		s.total *= v
	}
	for _, v := range m { // want `range over a map`
		s.total += v
		s.byName["x"] = s.total
	}
	for k, v := range m { // want `range over a map`
		s.total += v
		s.byName[k] = s.total
	}
	for _, v := range m { // want `range over a map`
		if s.total < 10 {
			s.total += v
		}
	}
	for _, v := range m { // want `range over a map`
		s.any = v > 1
	}
	for _, v := range m { // want `range over a map`
		s.any = v > 1 || v < 0
	}
	for _, v := range m { // want `range over a map`
		s.low = min(v, 5)
	}
	for _, v := range m { // want `range over a map`
		s.any = true
		if v > 2 {
			s.any = false
		}
	}
	for k, v := range m { // want `range over a map`
		n[k] = v + n["x"]
	}
	for k, v := range m { // want `range over a map`
		n[k] = v
		s.total += len(n)
	}
	for _, v := range m { // want `range over a map`
		s.byID[v] = "seen"
		delete(s.byID, 5)
	}
	for k, v := range m { // want `range over a map`
		s.byID[v] = k
	}
	for k := range m { // want `range over a map`
		delete(m, k+"x")
	}
	for k := range m { // want `range over a map`
		delete(n, k+"x") // it may be m
	}
	for k := range m { // want `range over a map`
		s.byName[k+"x"]++
		s.low = min(s.low, s.byName[k])
	}
	for k := range other { // want `range over a map`
		n[k+"x"]++
		s.low = min(s.low, n[k])
	}
	for _, v := range m { // want `range over a map`
		count += v
		s.low = min(s.low, count)
	}
	for _, v := range m { // want `range over a map`
		s.total += v * <-c // want `receive from a channel`
	}
	for k := range m { // want `range over a map`
		k = k + "x"
		delete(n, k)
	}
	for _, v := range m { // want `range over a map`
		if v > 5 {
			break
		}
		s.total++
	}
outer:
	for range list {
		for _, v := range m { // want `range over a map`
			if v > 5 {
				continue outer
			}
		}
	}
	for _, v := range m { // want `range over a map`
		if s.total++; v > 5 {
			return "", 1
		}
	}
	for _, v := range m { // want `range over a map`
		if v > 5 {
			return "", 1
		}
		if v < -5 {
			return "", 2
		}
	}
	for k, v := range m { // want `range over a map`
		if v > 5 {
			return k, 1
		}
	}
	for t := range things { // want `range over a map`
		t.n = t.id
	}
	for t := range things { // want `range over a map`
		if t.done = true; !t.done {
			s.total++
		}
	}
	for t := range things { // want `range over a map`
		*t = thing{}
	}
	for _, v := range m { // want `range over a map`
		list = append(list, v)
	}
	for _, v := range m { // want `range over a map`
		for _, list[0] = range list[v:] {
		}
	}
	for _, v := range m { // want `range over a map`
		for i := range iterate {
			s.total += i * v
		}
	}
	for _, v := range m { // want `range over a map`
		defer effect(v)
	}
	for _, v := range m { // want `range over a map`
		var w = effect(v)
		s.total += w
	}
	for _, v := range m { // want `range over a map`
		if p := &s.total; v > 0 {
			_ = p
		}
	}
	for k := range m { // want `range over a map`
		last = k // want `change of last`
	}
	return k, v
}

func iterate(yield func(int) bool) {}
