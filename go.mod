module github.com/simba-go/simba

go 1.26.0

require (
	github.com/looplab/fsm v1.0.3
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.50.0
	pgregory.net/rapid v1.3.0
)
