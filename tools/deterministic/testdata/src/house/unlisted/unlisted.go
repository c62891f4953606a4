// Package unlisted is not checked.
package unlisted

import "time"

// F reads the clock.
func F() { time.Now() }
