package sources

import "time"

func unknown() time.Time { // want `time.Time: a behaviour asks its context`
	var now func() time.Time // want `time.Time`
	return now()
}
