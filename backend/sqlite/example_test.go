package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/simba-go/simba/backend/sqlite"
)

// Programs hand the store to a client. This is what the client does with it.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(folder, "leases.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	grant, err := store.Open(ctx, 15*time.Second, "web-1")
	if err != nil {
		log.Fatal(err)
	}
	outcomes, err := store.Acquire(ctx, grant.Session, []string{"nightly-report"}, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcomes[0].Won)

	holders, err := store.Inspect(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(holders[0].Name, "is held by", holders[0].Label)
	// Output:
	// true
	// nightly-report is held by web-1
}
