// Package free has loops over maps that do the same in every order.
package free

type thing struct {
	n, id int
	done  bool
	size  float64
}

type state struct {
	total, low, high int
	any, all         bool
	bits             uint
	byName           map[string]int
	byID             map[int]string
}

func (s *state) loops(m map[string]int, things map[*thing]string, sets map[string][]int, other map[string]bool) int {
	for range m {
		println("the same again")
	}
	for _ = range m {
		println("the same again")
	}
	for k, v := range m {
		s.total += v
		s.total -= len(k)
		s.total++
		s.low, s.high = min(s.low, v), max(v, s.high, 1)
		s.any, s.all = s.any || v > 1, s.all && v < 5
		s.bits |= 1 << uint(v)
	}
	for k, v := range m {
		if v < 0 {
			delete(m, k)
			continue
		}
		m[k] = v + m[k]
		m[k] = min(m[k], v)
		other[k] = true
		if other[k] {
			other[k] = v > 2
		}
	}
	for k, v := range m {
		s.byName[k] += 2 * v
		s.byID[v] = "seen"
	}
	for p := range things {
		p.done, p.n = true, 0
	}
	for t := range things {
		if t.size > 2.5 {
			s.total = 1
		}
	}
	for name, set := range sets {
		sum := 0
		for i, v := range set {
			if v == 0 {
				break
			}
			sum += v * i
		}
		for i := 0; i < len(name); i++ {
			sum--
		}
		switch {
		case sum > 5, sum < -5:
			sum = 5
			fallthrough
		default:
			var half = sum / 2
			_, sum = sum, half
		}
		s.byName[name] = sum
	}
	for k, v := range m {
		pair := []any{k, &thing{n: v}, [2]int{v, 1: v}, uint8(v), (v), -v, any(v).(int)}
		other[k] = len(pair[1:]) == 5
		{
		}

	}
	for _, v := range m {
		delete(s.byID, v)
	}
	for _, v := range m {
		if v == 7 {
			return 1
		}
	}
	return 0
}

func distinct(m map[int]string, lengths []int) {
	for i, text := range m {
		lengths[i] = len(text)
	}
}

func none(m map[string]int) (found bool) {
	for _, v := range m {
		if v > 0 {
			found = true
		}
	}
	return
}
