module github.com/simba-go/simba

go 1.26.0

require (
	github.com/looplab/fsm v1.0.3
	golang.org/x/sys v0.50.0
)
