package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/simba-go/simba/fence"
)

// Check refuses a token after a higher one. Tokens come from a term: t.Token().
func ExampleGuard_Check() {
	var guard fence.Guard
	fmt.Println(guard.Check("ledger", 41)) // the first leader
	fmt.Println(guard.Check("ledger", 42)) // the next one
	fmt.Println(guard.Check("ledger", 42)) // writes again
	fmt.Println(guard.Check("ledger", 41)) // the first one wakes up
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// fence: "ledger" refuses the stale token 41: it has seen 42, so another owner has taken over
}

// Do makes one step of the check and the act.
func ExampleGuard_Do() {
	ctx := context.Background()
	var guard fence.Guard
	balance := 100
	set := func(token uint64, to int) error {
		return guard.Do(ctx, "account", token, func(context.Context) error {
			balance = to
			return nil
		})
	}
	fmt.Println(set(42, 120))
	err := set(41, 70)
	var stale *fence.StaleError
	if errors.As(err, &stale) {
		fmt.Println("refused after token", stale.Highest)
	}
	fmt.Println(balance)
	// Output:
	// <nil>
	// refused after token 42
	// 120
}

// Compare is the decision itself, for a guard of your own.
func ExampleCompare() {
	err := fence.Compare("turbine", 7, 9, 1<<53)
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output: true
}
