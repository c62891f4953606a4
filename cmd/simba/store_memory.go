package main

import (
	"context"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
)

var memoryScheme = scheme{
	name:    "memory",
	usage:   "memory:",
	private: true,
	open: func(_ context.Context, url string) (simba.Store, func() error, error) {
		if len(url) > len("memory:") {
			return nil, nil, usagef("memory: takes nothing after the colon")
		}
		return memory.New(), func() error { return nil }, nil
	},
}
