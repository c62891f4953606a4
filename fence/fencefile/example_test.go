package fencefile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencefile"
)

// example returns the path of a file to be.
func example() (path string, clean func()) {
	dir, err := os.MkdirTemp("", "fencefile")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "report"), func() { os.RemoveAll(dir) }
}

// WriteFile replaces the file unless a higher token has. Tokens come from a term: t.Token().
func ExampleGuard_WriteFile() {
	ctx := context.Background()
	path, clean := example()
	defer clean()
	guard := fencefile.New(path)
	fmt.Println(guard.WriteFile(ctx, 42, []byte("by the new leader"), 0o644))
	err := guard.WriteFile(ctx, 41, []byte("by the old one"), 0o644)
	fmt.Println(errors.Is(err, fence.ErrStale))
	text, err := os.ReadFile(path)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// <nil>
	// true
	// by the new leader <nil>
}

// Do is for a file that is written in other ways.
func ExampleGuard_Do() {
	ctx := context.Background()
	path, clean := example()
	defer clean()
	guard := fencefile.New(path)
	fmt.Println(guard.Do(ctx, 42, func(context.Context) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString("one more line\n")
		return errors.Join(err, f.Close())
	}))
	fmt.Println(guard.Highest())
	// Output:
	// <nil>
	// 42 <nil>
}

// Check only checks.
func ExampleGuard_Check() {
	ctx := context.Background()
	path, clean := example()
	defer clean()
	guard := fencefile.New(path)
	fmt.Println(guard.Check(ctx, 42))
	fmt.Println(errors.Is(guard.Check(ctx, 41), fence.ErrStale))
	// Output:
	// <nil>
	// true
}
