package main

import "sync"

// each examines the mutants, so many at once, and returns the results in the order of the mutants. It calls done after each.
func each(mutants []mutant, workers int, examine func(mutant) result, done func(result)) []result {
	results := make([]result, len(mutants))
	next := make(chan int)
	var crew sync.WaitGroup
	var mu sync.Mutex
	for range max(1, workers) {
		crew.Go(func() {
			for i := range next {
				results[i] = examine(mutants[i])
				mu.Lock()
				done(results[i])
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	crew.Wait()
	return results
}
